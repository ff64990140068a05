import io
from dataclasses import replace

import numpy as np
import pytest
from tasks.sources import write_tar, write_tree

from longarena.data.png import decode, encode
from longarena.errors import UserError
from longarena.tasks import build
from longarena.tasks.generate.contours import image
from longarena.tasks.prepare import prepare
from longarena.tasks.sheet import GAP, sheet

PLACE = "lra_release/lra_release/pathfinder32/curv_contour_length_14"
SPLIT = {"train": 16, "valid": 2, "test": 2}
ROW = "imgs/{0} sample_{1}.png {1} {2} 1.0 14 4 2 0.5 1 1\n"


def pixels_of(batch, number):
    """An image that tells its batch and number, so that its label can be checked."""
    pixels = np.random.default_rng([batch, number]).integers(0, 256, (32, 32), np.uint8)
    pixels[0, :3] = batch, number, (batch + number) % 2
    return pixels


def release(place=PLACE, batches=(2, 10), count=10):
    """Batches of images, the metadata after the images; the third column is the label again."""
    members = {}
    for batch in batches:
        for number in range(count):
            name = f"{place}/imgs/{batch}/sample_{number}.png"
            members[name] = encode(pixels_of(batch, number))
        rows = [ROW.format(batch, number, (batch + number) % 2) for number in range(count)]
        members[f"{place}/metadata/{batch}.npy"] = "".join(rows).encode()
    return members


def read(path, options=None):
    """Prepare the images of a source and return those of each split, with their labels."""
    store = prepare(build("pathfinder", options or {}), path.parent / "home", path)
    splits = {name: store.split(name) for name in store.sizes}
    return store, {
        name: [(bytes(split.sequence(i)[:3]), int(split.labels[i])) for i in range(len(split))]
        for name, split in splits.items()
    }


def test_the_release_is_split_in_a_fixed_way(tmp_path):
    store, found = read(write_tar(tmp_path / "some.tar.gz", release()))
    assert {name: len(rows) for name, rows in found.items()} == SPLIT
    everything = [row for rows in found.values() for row in rows]
    assert all(first[2] == label for first, label in everything)
    assert len(set(everything)) == 20
    assert store.facts["data"] == "some"
    backwards = dict(reversed(release().items()))
    again, _ = read(write_tree(tmp_path / "other" / "tree", backwards))
    assert again.fingerprint == store.fingerprint


def test_of_two_copies_the_inner_one_counts(tmp_path):
    outer = release("lra_release/pathfinder32/curv_contour_length_14")
    outer = {name: data for name, data in outer.items() if "metadata" not in name}
    outer = {name: encode(np.zeros((32, 32), np.uint8)) for name in outer}
    _, found = read(write_tar(tmp_path / "twice.tar", release() | outer, "w"))
    assert all(first[2] == label and any(first) for first, label in found["train"])


def test_a_folder_inside_the_release_will_do(tmp_path):
    write_tree(tmp_path, release("pathfinder32/curv_baseline"))
    _, found = read(tmp_path / "pathfinder32" / "curv_baseline", {"difficulty": 6})
    assert len(found["train"]) == 16


def test_empty_images_are_skipped(tmp_path):
    members = release() | {f"{PLACE}/imgs/2/sample_3.png": b""}
    _, found = read(write_tar(tmp_path / "some.tar.gz", members))
    rows = [first for rows in found.values() for first, _ in rows]
    assert len(rows) == 19
    assert not any(first[:2] == bytes([2, 3]) for first in rows)


def numpy_file(table):
    buffer = io.BytesIO()
    np.save(buffer, table)
    return buffer.getvalue()


def test_metadata_may_be_an_array_of_strings_but_no_pickle(tmp_path):
    name = f"{PLACE}/metadata/2.npy"
    table = np.array([line.split() for line in release()[name].decode().splitlines()])
    members = release() | {name: numpy_file(table)}
    assert len(read(write_tar(tmp_path / "some.tar", members, "w"))[1]["train"]) == 16
    members[name] = numpy_file(table.astype(object))
    with pytest.raises(UserError, match=r"metadata/2\.npy"):
        read(write_tar(tmp_path / "objects.tar", members, "w"))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"imgs/2/sample_3.png": b"GIF89a"}, r"sample_3\.png is not a grey PNG"),
        (
            {"imgs/2/sample_3.png": encode(np.zeros((8, 8), np.uint8))},
            r"sample_3\.png has \(8, 8\)",
        ),
        ({"imgs/2/sample_99.png": b""}, r"no metadata row for .*imgs/2/sample_99\.png"),
        ({"imgs/2/sample_3.png": None}, r"no image for .*imgs/2/sample_3\.png"),
        ({"metadata/2.npy": b"imgs/2 sample_0.png 0 7 1.0\n"}, r"2\.npy, line 1"),
        ({"metadata/2.npy": b"imgs/2 sample_0.png\n"}, r"2\.npy, line 1"),
        ({"metadata/2.npy": None, "metadata/10.npy": None}, "has no pathfinder32/.*metadata"),
    ],
)
def test_what_is_wrong_with_a_source_is_said_in_one_line(tmp_path, changed, message):
    members = release() | {f"{PLACE}/{name}": data for name, data in changed.items()}
    members = {name: data for name, data in members.items() if data is not None}
    with pytest.raises(UserError, match=message) as error:
        read(write_tar(tmp_path / "bad.tar.gz", members))
    assert "\n" not in str(error.value)
    assert not list((tmp_path / "home").rglob("dataset.json"))


@pytest.mark.parametrize("difficulty", [6, 14])
def test_a_task_draws_the_images_of_its_seed_in_order(difficulty):
    task = build("pathfinder", {"difficulty": difficulty})
    chunks = list(task.generate({"train": 250, "valid": 3, "test": 1}))
    assert [(split, len(chunk.labels)) for split, chunk in chunks] == [
        *(("train", size) for size in (100, 100, 50)),
        ("valid", 3),
        ("test", 1),
    ]
    tokens = np.concatenate([chunk.tokens for _, chunk in chunks]).reshape(-1, 32, 32)
    for row, index in ((0, 0), (249, 249), (250, 160_000), (253, 180_000)):
        np.testing.assert_array_equal(tokens[row], image(32, difficulty, 1, index)[0])


def test_a_smaller_version_is_part_of_a_larger_one(tmp_path):
    small, large = (
        prepare(build("pathfinder", {"difficulty": 6}, size), tmp_path).split("valid")
        for size in (0.0005, 0.001)
    )
    assert (len(small), len(large)) == (10, 20)
    np.testing.assert_array_equal(small.tokens, large.tokens[: len(small.tokens)])


def test_an_unknown_difficulty_is_refused():
    with pytest.raises(UserError, match="difficulty = 7"):
        build("path-x", {"difficulty": 7})


@pytest.mark.parametrize(("name", "columns"), [("pathfinder", 32), ("path-x", 64)])
def test_an_image_is_shown_in_block_characters(name, columns):
    task = build(name, {})
    pixels = np.zeros((task.side, task.side), np.uint8)
    pixels[0, 0] = pixels[-1, -1] = 255
    answer, *lines = task.describe([pixels.reshape(-1)], 1).splitlines()
    assert answer.startswith("1: ")
    assert {len(line) for line in lines} == {columns}
    assert (lines[0][0], lines[-1][-1]) == ("▀", "▄")
    assert sum(line.count(" ") for line in lines) == columns * columns // 2 - 2


def test_a_sheet_shows_images_above_their_labels(tmp_path):
    store, _ = read(write_tar(tmp_path / "some.tar.gz", release()))
    split = store.split("train")
    picture = decode(encode(sheet(split, 5, (32, 32))), "sheet.png")
    assert picture.shape == (2 * (128 + 14 + 2 * GAP) + 2 * GAP, 3 * (128 + 2 * GAP) + 2 * GAP)
    first = picture[2 * GAP : 2 * GAP + 128 : 4, 2 * GAP : 2 * GAP + 128 : 4]
    np.testing.assert_array_equal(first.reshape(-1), split.sequence(0))
    labels = {
        label: sheet(replace(split, labels=np.full(16, label)), 1, (32, 32)) for label in (0, 1)
    }
    assert (labels[0] != labels[1]).any(axis=1).nonzero()[0].min() >= 128


def test_a_small_image_has_short_paths_and_comes_from_no_source(tmp_path):
    task = build("pathfinder", {"side": 16, "difficulty": 4})
    assert task.signature.max_length == 256
    assert task.card.image_shape == (16, 16)
    with pytest.raises(UserError, match="a path has 3, 4, 6 paddles"):
        build("pathfinder", {"side": 16})
    with pytest.raises(UserError, match="a path has 6, 9, 14 paddles"):
        build("pathfinder", {"difficulty": 4})
    source = write_tar(tmp_path / "release.tar", release())
    with pytest.raises(UserError, match="images of side 16 are only generated"):
        prepare(task, tmp_path / "home", source)

import gzip
import hashlib
import io
import zipfile

import numpy as np
import pytest

from longarena.errors import UserError
from longarena.tasks import build
from longarena.tasks.base import SPLITS
from longarena.tasks.enwik8 import Enwik8
from longarena.tasks.prepare import open_prepared, prepare

CONTENT = np.random.default_rng(0).integers(0, 256, 2000).astype(np.uint8).tobytes()


@pytest.fixture(autouse=True)
def small_enwik8(monkeypatch):
    """Two thousand bytes in the place of a hundred million."""
    monkeypatch.setattr(Enwik8, "num_bytes", len(CONTENT))
    monkeypatch.setattr(Enwik8, "checksum", hashlib.md5(CONTENT).hexdigest())


def zipped(*names, content=CONTENT):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names:
            archive.writestr(name, content)
    return file.getvalue()


SOURCES = {
    "enwik8": CONTENT,
    "enwik8.gz": gzip.compress(CONTENT),
    "enwik8.zip": zipped("enwik8"),
}


def write(folder, name, content):
    (folder / name).write_bytes(content)
    return folder / name


def test_the_official_numbers_are_those_of_the_hutter_prize(monkeypatch):
    monkeypatch.undo()
    card = build("enwik8", {}).card
    assert card.sizes == {"train": 90_000_000, "valid": 5_000_000, "test": 5_000_000}
    assert Enwik8.checksum == "a1fa5ffddb56f4953e226637dabbb36a"


@pytest.mark.parametrize("name", SOURCES)
def test_every_form_of_the_file_gives_the_same_splits(tmp_path, name):
    data = prepare(build("enwik8", {}), tmp_path / "home", write(tmp_path, name, SOURCES[name]))
    assert data.facts["data"] == ""
    parts = [data.split(split).sequence(0).tobytes() for split in SPLITS]
    assert parts == [CONTENT[:1800], CONTENT[1800:1900], CONTENT[1900:]]
    expected = prepare(build("enwik8", {}), tmp_path / "again", write(tmp_path, "raw", CONTENT))
    assert data.fingerprint == expected.fingerprint


@pytest.mark.parametrize(
    ("name", "content", "answer"),
    [
        ("other.txt", CONTENT[:-1] + b"x", "is not enwik8: it has 2,000 bytes with the md5"),
        ("short", CONTENT[:-1], "1,999 bytes"),
        ("longer", CONTENT + b"x", "more bytes"),
        ("empty", b"", "it has 0 bytes"),
        ("cut.gz", gzip.compress(CONTENT)[:-500], "cut off"),
        ("cut.zip", zipped("enwik8")[:-500], "cut off"),
        ("two.zip", zipped("enwik8", "readme"), "holds 2 files"),
        ("broken.zip", zipped("enwik8").replace(CONTENT[:9], b"!" * 9), "cut off"),
    ],
)
def test_anything_else_is_refused_in_one_line(tmp_path, name, content, answer):
    with pytest.raises(UserError, match=answer) as refusal:
        prepare(build("enwik8", {}), tmp_path / "home", write(tmp_path, name, content))
    assert "\n" not in str(refusal.value)
    assert not list((tmp_path / "home").glob("enwik8/v1*"))


def test_a_folder_is_no_text(tmp_path):
    with pytest.raises(UserError, match="is a folder"):
        prepare(build("enwik8", {}), tmp_path / "home", tmp_path)


def test_what_is_prepared_once_serves_every_length_and_size(tmp_path):
    home = tmp_path / "home"
    prepare(build("enwik8", {}), home, write(tmp_path, "enwik8", CONTENT))
    task = build("enwik8", {"length": 64, "overlap": 5}, size=0.1)
    assert task.variant == "length=64,overlap=5,size=0.1"
    data = open_prepared(task, home)
    parts = [data.split(split).sequence(0).tobytes() for split in SPLITS]
    assert parts == [CONTENT[:180], CONTENT[1800:1810], CONTENT[1900:1910]]
    assert [path.name for path in (home / "enwik8").iterdir() if path.is_dir()] == ["v1"]
    assert (task.signature.max_length, task.signature.overlap) == (64, 5)


def test_half_of_a_window_overlaps_unless_said_otherwise():
    assert build("enwik8", {"length": 100}).signature.overlap == 50


@pytest.mark.parametrize("overlap", [64, 100])
def test_an_overlap_that_leaves_nothing_is_refused(overlap):
    with pytest.raises(UserError, match="choose at most 63"):
        build("enwik8", {"length": 64, "overlap": overlap})


def test_missing_data_is_answered_with_the_command_that_prepares_it(tmp_path):
    with pytest.raises(UserError, match=r"run: longarena data prepare enwik8$"):
        open_prepared(build("enwik8", {"length": 64}, size=0.1), tmp_path)


def test_an_example_is_shown_by_its_beginning():
    task = build("enwik8", {})
    text = task.describe([np.full(5000, ord("a"), np.uint8)], 0)
    assert text == "the first 1,000 of 5,000 bytes:\n" + 1000 * "a"

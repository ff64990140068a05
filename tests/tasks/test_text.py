import numpy as np
import pytest
from tasks.sources import imdb, write_tar, write_tree

from longarena.errors import UserError
from longarena.tasks import build
from longarena.tasks.base import default_home
from longarena.tasks.prepare import prepare

SPLITS = ("train", "valid", "test")


def examples(store, split):
    part = store.split(split)
    return [(part.sequence(i).tobytes(), int(part.labels[i])) for i in range(len(part))]


def read(path, options=None):
    return prepare(build("text", options or {}), default_home(), path)


def test_every_review_is_there_once_with_its_label(tmp_path):
    store = read(write_tar(tmp_path / "imdb.tar.gz", imdb()))
    wanted = [
        (text, int("/pos/" in name))
        for name, text in imdb().items()
        if "/pos/" in name or "/neg/" in name
    ]
    found = [example for split in SPLITS for example in examples(store, split)]
    assert sorted(found) == sorted(wanted)
    assert all(text.startswith(b"test") for text, _ in examples(store, "test"))
    assert all(text.startswith(b"train") for text, _ in examples(store, "valid"))


def test_valid_is_a_tenth_of_each_class(tmp_path):
    store = read(write_tar(tmp_path / "imdb.tar.gz", imdb(train=30)))
    assert store.sizes == {"train": 54, "valid": 6, "test": 12}
    assert np.bincount(store.split("valid").labels).tolist() == [3, 3]


def test_the_order_of_the_archive_does_not_matter(tmp_path):
    members = imdb()
    backwards = dict(reversed(members.items()))
    first = read(write_tar(tmp_path / "a.tar.gz", members))
    assert (
        read(write_tar(tmp_path / "b.tar.xz", backwards, "w:xz")).fingerprint == first.fingerprint
    )
    assert read(write_tree(tmp_path / "c", backwards)).fingerprint == first.fingerprint


def test_the_unpacked_folder_itself_is_a_source(tmp_path):
    tree = write_tree(tmp_path / "tree", imdb())
    assert read(tree / "aclImdb").fingerprint == read(tree).fingerprint


def test_the_first_bytes_are_kept(tmp_path):
    store = read(write_tar(tmp_path / "imdb.tar.gz", imdb()), {"max_length": 20})
    assert store.split("train").lengths.max() == 20
    assert all(imdb_text.startswith(b"test ") for imdb_text, _ in examples(store, "test"))
    full = imdb()["aclImdb/test/pos/5_9.txt"]
    assert (full[:20], 1) in examples(store, "test")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("aclImdb/train/pos/7_3.txt", "rating 3 does not belong in pos"),
        ("aclImdb/train/neg/7_8.txt", "rating 8 does not belong in neg"),
        ("aclImdb/test/neg/7_5.txt", "rating 5 does not belong in neg"),
        ("aclImdb/test/neg/seven.txt", "seven.txt is not named"),
    ],
)
def test_a_bad_label_is_named(tmp_path, name, message):
    with pytest.raises(UserError, match=message):
        read(write_tar(tmp_path / "imdb.tar.gz", imdb() | {name: b"text"}))


def test_files_that_are_no_reviews_are_passed_over(tmp_path):
    noise = {"aclImdb/train/pos/._0_9.txt": b"x", "aclImdb/train/urls_pos.txt": b"y"}
    plain = read(write_tar(tmp_path / "a.tar.gz", imdb()))
    assert read(write_tar(tmp_path / "b.tar.gz", imdb() | noise)).fingerprint == plain.fingerprint


@pytest.mark.parametrize("missing", ["train/pos", "train/neg", "test/pos", "test/neg"])
def test_a_missing_part_is_named(tmp_path, missing):
    members = {name: text for name, text in imdb().items() if missing not in name}
    with pytest.raises(UserError, match=rf"has no {missing}/"):
        read(write_tar(tmp_path / "imdb.tar.gz", members))


def test_a_description_tells_label_and_text():
    text = np.frombuffer("caf\u00e9 \xff".encode()[:-1], np.uint8)
    assert build("text", {}).describe([text], 1).splitlines()[0] == "positive:"
    assert "caf\u00e9" in build("text", {}).describe([text], 0)

import numpy as np
import pytest
from tasks.sources import AAN, aan, write_tar, write_tree

from longarena.errors import UserError
from longarena.tasks import build
from longarena.tasks.base import default_home
from longarena.tasks.prepare import prepare


def read(path, options=None):
    return prepare(build("retrieval", options or {}), default_home(), path)


def test_every_pair_is_there_in_order(tmp_path):
    store = read(write_tar(tmp_path / "mini.tar.gz", aan()))
    for name, split in (("train", "train"), ("eval", "valid"), ("test", "test")):
        pairs = store.split(split)
        lines = aan()[f"{AAN}.{name}.tsv"].decode().splitlines()
        assert len(pairs) == len(lines)
        for i, line in enumerate(lines):
            label, _, _, *texts = line.split("\t")
            assert [pairs.sequence(i, which).tobytes().decode() for which in (0, 1)] == texts
            assert pairs.labels[i] == float(label)


def test_a_quotation_mark_is_a_letter(tmp_path):
    store = read(write_tar(tmp_path / "mini.tar.gz", aan()))
    assert store.split("test").sequence(0).tobytes().startswith(b'a "test')


def test_documents_are_cut_each_alone(tmp_path):
    store = read(write_tar(tmp_path / "mini.tar.gz", aan()), {"max_length": 12})
    train = store.split("train")
    assert train.sequence(3, 0).tobytes() == b'a "train pap'
    assert train.sequence(3, 1).tobytes() == b"another trai"


@pytest.mark.parametrize("write", [write_tar, write_tree])
@pytest.mark.parametrize("inner_first", [True, False])
def test_of_two_copies_the_inner_one_counts(tmp_path, write, inner_first):
    inner = aan()
    outer = {name.replace("lra_release/", "", 1): text for name, text in aan((1, 1, 1)).items()}
    members = inner | outer if inner_first else outer | inner
    assert read(write(tmp_path / "twice", members)).sizes["train"] == 7


def test_the_folder_of_the_tables_is_a_source(tmp_path):
    tree = write_tree(tmp_path / "tree", aan())
    assert read(tree / "lra_release/lra_release/tsv_data").sizes["train"] == 7


def test_a_missing_table_is_named(tmp_path):
    members = aan()
    del members[f"{AAN}.eval.tsv"]
    with pytest.raises(UserError, match=r"mini\.tar\.gz has no new_aan_pairs\.eval\.tsv"):
        read(write_tar(tmp_path / "mini.tar.gz", members))


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (b"2.0\ta\tb\tone\ttwo\n", "the label '2.0' is not 0 or 1"),
        (b"\ta\tb\tone\ttwo\n", "the label '' is not 0 or 1"),
        (b"1.0\ta\tb\tone\n", "4 columns instead of 5"),
        (b"1.0\ta\tb\tone\ttwo\tthree\n", "6 columns instead of 5"),
        (b"\n", "1 columns instead of 5"),
    ],
)
def test_a_bad_row_is_named_by_its_line(tmp_path, row, message):
    members = aan()
    members[f"{AAN}.train.tsv"] += row
    with pytest.raises(UserError, match=rf"new_aan_pairs\.train\.tsv, line 8: {message}"):
        read(write_tar(tmp_path / "mini.tar.gz", members))


def test_an_empty_table_is_refused(tmp_path):
    with pytest.raises(UserError, match=r"new_aan_pairs\.eval\.tsv has no rows"):
        read(write_tar(tmp_path / "mini.tar.gz", aan((3, 0, 2))))


def test_a_description_tells_the_link_and_both_documents():
    papers = [np.frombuffer(text, np.uint8) for text in (b"first", b"second" * 200)]
    lines = build("retrieval", {}).describe(papers, 1).splitlines()
    assert lines[0] == "one cites the other"
    assert lines[1] == "- first"
    assert lines[2].startswith("- secondsecond")
    assert lines[2].endswith("... (1200 bytes)")

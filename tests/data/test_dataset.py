import json

import numpy as np
import pytest

from longarena.data.batches import assemble
from longarena.data.dataset import Chunk, Dataset, Writer
from longarena.data.sample import sample
from longarena.errors import UserError

ROWS = [(b"abc", 1), (b"", 0), (b"defgh", 2)]


def write(folder, rows=ROWS):
    with Writer(folder, {"name": "toy"}) as writer:
        for text, label in rows:
            writer.add("train", Chunk.of([text], label))
    return folder


def test_what_was_written_is_read_back(tmp_path):
    store = Dataset(write(tmp_path / "toy"))
    split = store.split("train")
    assert [split.sequence(i).tobytes() for i in range(3)] == [text for text, _ in ROWS]
    assert split.labels.tolist() == [1, 0, 2]
    assert split.lengths.tolist() == [3, 0, 5]
    assert store.facts == {"name": "toy"}
    assert store.sizes == {"train": 3}


def test_a_pair_is_two_sequences_with_one_label(tmp_path):
    with Writer(tmp_path / "pairs", {}, num_sequences=2) as writer:
        writer.add("train", Chunk.of([b"ab", b"cdef"], 1))
        writer.add("train", Chunk.of([b"ghi", b"j"], 0))
    split = Dataset(tmp_path / "pairs").split("train")
    assert len(split) == 2
    assert split.sequence(0, 1).tobytes() == b"cdef"
    assert split.sequence(1, 0).tobytes() == b"ghi"
    assert split.lengths.tolist() == [4, 3]
    assert split.num_tokens.tolist() == [6, 4]


def test_the_fingerprint_follows_the_content(tmp_path):
    same, other = write(tmp_path / "a"), write(tmp_path / "b", [(b"abd", 1), *ROWS[1:]])
    assert Dataset(same).fingerprint == Dataset(write(tmp_path / "c")).fingerprint
    assert Dataset(same).fingerprint != Dataset(other).fingerprint


@pytest.mark.parametrize("part", ["tokens", "offsets", "labels"])
def test_one_changed_byte_is_noticed(tmp_path, part):
    path = write(tmp_path / "toy") / f"train.{part}"
    content = bytearray(path.read_bytes())
    content[1] ^= 1
    path.write_bytes(content)
    with pytest.raises(UserError, match="does not match its fingerprint"):
        Dataset(tmp_path / "toy")


def test_a_missing_file_is_noticed(tmp_path):
    (write(tmp_path / "toy") / "train.labels").unlink()
    with pytest.raises(UserError, match=r"train\.labels is missing"):
        Dataset(tmp_path / "toy")


def test_a_store_of_another_format_is_refused(tmp_path):
    path = write(tmp_path / "toy") / "dataset.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"format": 99}))
    with pytest.raises(UserError, match="format: "):
        Dataset(tmp_path / "toy")


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "3",
        "{}",
        "[" * 5000,
        '{"format": 1}',
        '{"format": 1, "facts": [], "num_sequences": 1, "sizes": {}, "fingerprint": ""}',
        '{"format": 1, "facts": {}, "num_sequences": 9, "sizes": {}, "fingerprint": ""}',
        '{"format": 1, "facts": {}, "num_sequences": 1, "sizes": {"../a": 1}, "fingerprint": ""}',
        '{"facts": {}, "num_sequences": 1, "tokens": 3, "sizes": {}, "fingerprint": ""}',
        '{"format": ' + "9" * 5000 + "}",
    ],
)
@pytest.mark.parametrize("verify", [True, False])
def test_whatever_a_dataset_says_of_itself_is_checked(tmp_path, text, verify):
    (write(tmp_path / "toy") / "dataset.json").write_text(text)
    with pytest.raises(UserError, match="is damaged") as refused:
        Dataset(tmp_path / "toy", verify=verify)
    assert "\n" not in str(refused.value)


def test_a_writer_that_fails_leaves_nothing_new_and_keeps_what_was_there(tmp_path):
    before = Dataset(write(tmp_path / "toy")).fingerprint
    writer = Writer(tmp_path / "toy", {})
    with pytest.raises(OSError, match="disk full"), writer:
        writer.add("train", Chunk.of([b"zzz"], 0))
        raise OSError("disk full")
    assert Dataset(tmp_path / "toy").fingerprint == before
    assert [path.name for path in tmp_path.iterdir()] == ["toy"]


def test_what_a_dead_writer_left_is_cleared_away(tmp_path):
    (tmp_path / "toy.12345.partial").mkdir()
    write(tmp_path / "toy")
    assert [path.name for path in tmp_path.iterdir()] == ["toy"]


def wide_chunk(*tokens):
    return Chunk(np.array(tokens, np.uint16), np.array([len(tokens)]), np.array([0]))


def test_tokens_of_two_bytes_are_read_back(tmp_path):
    with Writer(tmp_path / "wide", {}, tokens="uint16") as writer:
        writer.add("train", wide_chunk(1, 256, 65535))
        writer.add("train", Chunk.of([b"ab"], 1))
    store = Dataset(tmp_path / "wide")
    split = store.split("train")
    assert [split.sequence(i).tolist() for i in range(2)] == [[1, 256, 65535], [97, 98]]
    assert split.lengths.tolist() == [3, 2]
    assert (tmp_path / "wide/train.tokens").stat().st_size == 2 * 5
    assert json.loads((tmp_path / "wide/dataset.json").read_text())["tokens"] == "uint16"
    assert sample(split, 1).tokens.dtype == np.uint16
    assert assemble(split, np.array([0])).ids[0, 0, :4].tolist() == [2, 257, 65536, 0]


def test_the_same_bytes_as_wider_tokens_are_other_data(tmp_path):
    for kind in ("uint8", "uint16"):
        with Writer(tmp_path / kind, {}, tokens=kind) as writer:
            # two tokens of a byte, or one of two
            tokens = np.array([1, 2], np.uint8).view(kind)
            writer.add("train", Chunk(tokens, np.array([2]), np.array([0])))
    assert Dataset(tmp_path / "uint8").fingerprint != Dataset(tmp_path / "uint16").fingerprint


def test_a_token_that_does_not_fit_is_refused(tmp_path):
    with (
        pytest.raises(ValueError, match="uint16 do not fit a dataset of uint8"),
        Writer(tmp_path / "x", {}) as writer,
    ):
        writer.add("train", wide_chunk(1, 2))


def test_a_dataset_from_before_there_were_wide_tokens_is_read_as_bytes(tmp_path):
    path = write(tmp_path / "toy") / "dataset.json"
    about = json.loads(path.read_text())
    del about["tokens"]
    path.write_text(json.dumps(about))
    store = Dataset(tmp_path / "toy")
    assert store.split("train").sequence(0).tobytes() == b"abc"
    # what such datasets are called in records
    assert store.fingerprint == "ddcfdd5dd73c3e01"


def test_sequences_and_labels_must_fit_together(tmp_path):
    chunk = Chunk(np.zeros(3, np.uint8), np.array([3]), np.array([0, 1]))
    with (
        pytest.raises(ValueError, match="1 sequences for 2 labels"),
        Writer(tmp_path / "x", {}) as w,
    ):
        w.add("train", chunk)

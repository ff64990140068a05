"""What cannot be used in a user's data is refused in one line that says where and what to do."""

import json
import sys

import numpy as np
import pytest
from tasks.own_data import reviews, series, write_csv, write_folder, write_jsonl, write_recordings
from tasks.sources import wav, write_tree

from longarena.errors import UserError
from longarena.recipes.presets import preset
from longarena.tasks.base import default_home
from longarena.tasks.own import rows as reading


@pytest.fixture
def refuse(tmp_path):
    """Check that data is refused with an answer, in one line, and that nothing stays of it."""

    def check(path, answer, **options):
        with pytest.raises(UserError, match=answer) as refusal:
            preset(str(path), "linear", options=options)
        assert "\n" not in str(refusal.value)
        assert not list(default_home().glob("*/v*"))

    return check


ROWS = reviews()


@pytest.mark.parametrize(
    ("content", "answer"),
    [
        (b"", "r.csv is empty"),
        (b"text,label\r\n", "has no examples"),
        (b"Text,Label\r\na,b\r\n", r"unknown column of r.csv 'text'; did you mean Text\?.*--text"),
        (b"text,label,text\r\na,b,c\r\n", "several columns called 'text'"),
        (b"text,label\r\na,b\r\na,b,c\r\n", "line 3: 3 columns instead of 2"),
        (b'text,label\r\na,b\r\n"a\nb,c\r\n', "line 3: .*quotation mark"),
        (b'text,label\r\n"a"b,c\r\n', "line 2: .*quotation mark"),
        (b"text,label\r\na,b\r\n\xff\xfe,b\r\n", "line 3 is not UTF-8"),
        ("text,label\r\na,b\r\n".encode("utf-16"), "line 1 is not UTF-8"),
        (b"text,label\r\na,b\r\na,\r\n", "line 3: the label is empty"),
        (b"text,label\r\n" + b"a,b\r\n" * 20, "every example has the label 'b'"),
        (b"text,label\r\na,1\r\nb,2\r\nc,3\r\n", "in 3 examples the label has 3 different values"),
        (b"text,label\r\na,1\r\nb,2\r\nc,1\r\nd,2\r\n", "none of the 4 examples is left for valid"),
    ],
)
def test_a_wrong_csv(content, answer, refuse, tmp_path):
    (tmp_path / "r.csv").write_bytes(content)
    refuse(tmp_path / "r.csv", answer)


def test_too_many_classes(refuse, tmp_path):
    rows = [(f"text {i}", f"{i % 1200}.5") for i in range(2500)]
    refuse(write_csv(tmp_path / "r.csv", rows), "more than 1,000 different values")


def test_gigantic_fields_and_lines(refuse, tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "MAX_FIELD", 100)
    path = write_csv(tmp_path / "r.csv", [*ROWS, ("x" * 101, "good")])
    refuse(path, "line 82: a field is longer than 100 characters")
    monkeypatch.setattr(reading, "MAX_LINE", 50)
    refuse(path, "is longer than 50 bytes")


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("{", "line 41 is not JSON"),
        ("[" * 100_000, "line 41 is not JSON"),
        ("[1, 2]", "line 41 is not an object"),
        ('{"text": "a"}', "line 41: unknown field 'label'"),
        ('{"text": null, "label": 1}', "line 41, 'text' is nothing instead of a text"),
        ('{"text": ["a"], "label": 1}', "line 41, 'text' is list instead of a text"),
        ('{"text": "\\ud800", "label": 1}', "line 41: the text has half of a character"),
        ('{"text": "a", "label": NaN}', "line 41, 'label' is nothing"),
    ],
)
def test_a_wrong_line_of_jsonl(line, answer, refuse, tmp_path):
    path = write_jsonl(tmp_path / "r.jsonl", ROWS)
    path.write_text(path.read_text().rstrip("\n") + f"\n{line}\n")
    refuse(path, answer)


def test_parquet_without_its_reader(refuse, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (tmp_path / "r.parquet").write_bytes(b"PAR1")
    refuse(tmp_path / "r.parquet", r"pip install 'longarena\[parquet\]'")


def test_a_broken_parquet(refuse, tmp_path):
    pytest.importorskip("pyarrow")
    (tmp_path / "r.parquet").write_bytes(b"PAR1")
    refuse(tmp_path / "r.parquet", "is not a whole Parquet file")


@pytest.mark.parametrize("text", ["a,b,c", "", "a,"])
def test_neither_one_text_nor_two(text, refuse, tmp_path):
    refuse(write_csv(tmp_path / "r.csv", ROWS), "neither one column nor two", text=text)


def test_splits_with_other_names(refuse, tmp_path):
    rows = [(*row, "holdout") for row in ROWS]
    path = write_csv(tmp_path / "r.csv", rows, header=("text", "label", "split"))
    refuse(path, "line 2: 'holdout' is no split", split="split")


@pytest.mark.parametrize(
    ("files", "answer"),
    [
        ({}, "is empty"),
        ({"a.csv": b"x"}, "tables are named by their split"),
        ({"test.csv": b"x"}, "has no file called train.csv"),
        ({"val.csv": b"x", "valid.csv": b"x"}, "both are valid"),
        ({"train.csv": b"x", "test.tsv": b"x"}, "are of several kinds"),
        ({"a.txt": b"x", "b/c.txt": b"x"}, r"x/a\.txt is in no folder of a class"),
    ],
)
def test_a_wrong_folder(files, answer, refuse, tmp_path):
    (tmp_path / "x").mkdir()
    refuse(write_tree(tmp_path / "x", files), answer)


@pytest.mark.parametrize(
    ("pattern", "answer"),
    [("(", "not a regular expression"), ("a", "has no group"), ("(a)_", "does not match --label")],
)
def test_a_wrong_pattern(pattern, answer, refuse, tmp_path):
    refuse(write_recordings(tmp_path / "x"), answer, label=pattern)


def test_recordings_of_several_rates_or_none_at_all(refuse, tmp_path):
    folder = write_recordings(tmp_path / "x")
    (folder / "1" / "99.wav").write_bytes(wav([1, 2], rate=16_000))
    refuse(folder, "x/1/99.wav has 16000 samples a second, x/0/0.wav has 8000")
    (folder / "1" / "99.wav").write_bytes(b"RIFF")
    refuse(folder, "x/1/99.wav is not a WAV file")


def test_bytes_that_are_no_text_for_byte_pairs(refuse, tmp_path):
    folder = write_folder(tmp_path / "x", ROWS)
    (folder / "good" / "99.txt").write_bytes(b"\xff\xfe")
    refuse(folder, r"x/good/99.txt is not UTF-8.*tokens=bpe", tokens="bpe")


def test_a_gigantic_file(refuse, tmp_path, monkeypatch):
    monkeypatch.setattr("longarena.tasks.own.texts.MAX_FIELD", 100)
    folder = write_folder(tmp_path / "x", [*ROWS, ("y" * 101, "good")])
    refuse(folder, "x/good/40.txt has 101 bytes; cut it")


X, Y = series()


@pytest.mark.parametrize(
    ("arrays", "answer"),
    [
        ({"data": X, "y": Y}, r"unknown array of s.npz 'x'.*task\.values=NAME"),
        ({"x": X}, "unknown array of s.npz 'y'"),
        ({"x": X, "y": Y[:-1]}, "39 labels for the 40 rows"),
        ({"x": X, "y": np.eye(40)}, r"shape \(40, 40\); one label"),
        ({"x": X, "y": Y + 0.5}, "decimal numbers; labels are classes"),
        ({"x": X[:, 0], "y": Y}, r"shape \(40,\); \(examples, length\)"),
        ({"x": X.astype(complex), "y": Y}, "holds complex128"),
        ({"x": X.astype(str), "y": Y}, "values are whole or decimal numbers"),
        ({"x": np.where(X > 7, np.inf, X), "y": Y}, "row . has a value that is no number"),
        ({"x": np.where(np.isnan(X), X, 1), "y": Y}, "all values of the training examples are 1"),
        ({"x": X, "y": np.zeros(40, int)}, "every example has the label '0'"),
        ({"x_test": X, "y_test": Y}, "unknown array"),
        ({"x_train": X, "y_train": Y, "x_test": X}, "unknown array of s.npz 'y_test'"),
    ],
)
def test_wrong_arrays(arrays, answer, refuse, tmp_path):
    np.savez(tmp_path / "s.npz", **arrays)
    refuse(tmp_path / "s.npz", answer)


def test_ragged_arrays_are_never_unpickled(refuse, tmp_path):
    ragged = np.array([[1.0], [1.0, 2.0]] * 20, object)
    np.savez(tmp_path / "s.npz", x=ragged, y=Y)
    refuse(tmp_path / "s.npz", "Python objects, which are never loaded.*NaN")


def test_an_array_without_labels(refuse, tmp_path):
    np.save(tmp_path / "x.npy", X)
    refuse(tmp_path / "x.npy", "has no labels; name a file beside it: --label labels.npy")
    refuse(tmp_path / "x.npy", r"y\.npy does not exist", label="y.npy")


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("r.csv.gz", "unpack it"),
        ("r.xlsx", r"save it as \.csv"),
        ("r.pkl", r"save it as \.npz"),
        ("r.wav", "name a folder"),
    ],
)
def test_a_file_of_another_kind(name, answer, refuse, tmp_path):
    (tmp_path / name).write_bytes(b"x" * 2000)
    refuse(tmp_path / name, answer)


def test_an_option_that_does_not_exist(refuse, tmp_path):
    refuse(write_csv(tmp_path / "r.csv", ROWS), "did you mean label", labels="x")


def test_data_that_changes_while_it_is_read(refuse, tmp_path, monkeypatch):
    path = write_csv(tmp_path / "r.csv", ROWS)
    real = reading.read_csv
    texts = iter(["text", "label"])

    def other(path, columns, has_header):
        return real(path, [next(texts), "label"], has_header)

    monkeypatch.setitem(reading.FORMATS, ".csv", other)
    refuse(path, "was changed while it was read")


def test_a_built_in_task_has_no_options_of_a_path():
    with pytest.raises(UserError, match="set its options by override"):
        preset("listops", "linear", options={"text": "review"})


def test_json_is_a_text_like_any_other(tmp_path):
    (tmp_path / "r.json").write_text(json.dumps(["a text"] * 200))
    assert preset(str(tmp_path / "r.json"), "linear").task.name == "r.json"

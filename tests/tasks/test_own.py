"""Data of the user's: any format by its path, known by its name and what it holds."""

import json
from pathlib import Path

import numpy as np
import pytest
from tasks.own_data import (
    reviews,
    series,
    write_csv,
    write_folder,
    write_jsonl,
    write_parquet,
    write_recordings,
    write_tsv,
)
from tasks.sources import wav, write_tree

from longarena.errors import UserError
from longarena.findings.changes import command
from longarena.model.embedding import values_of
from longarena.recipes.presets import PRESETS, preset
from longarena.recipes.recipe import build_task, override
from longarena.tasks.base import SPLITS, default_home
from longarena.tasks.own.names import name_of
from longarena.tasks.prepare import open_prepared


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """Commands are called in a folder beside the data."""
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")


def taken(path, **options):
    """Take data in; return its task and its prepared data."""
    task = build_task(preset(str(path), "linear", "small", options=options))
    return task, open_prepared(task, default_home())


def examples(path, **options):
    """Return all examples of some data: (the bytes of) their sequences, and their classes."""
    task, data = taken(path, **options)
    found = []
    for split in map(data.split, SPLITS):
        for i, label in enumerate(split.labels):
            sequences = [split.sequence(i, which) for which in range(split.num_sequences)]
            found.append((*(each.tobytes() for each in sequences), task.found.classes[label]))
    return found


WRITERS = {
    "r.csv": write_csv,
    "r.jsonl": write_jsonl,
    "r.parquet": write_parquet,
    "folder": write_folder,
}


@pytest.mark.parametrize("name", WRITERS)
def test_texts_come_whole_from_every_format(name, tmp_path):
    if name == "r.parquet":
        pytest.importorskip("pyarrow")
    rows = reviews()
    path = WRITERS[name](tmp_path / name, rows)
    assert sorted(examples(path)) == sorted((text.encode(), label) for text, label in rows)
    task, data = taken(path)
    longest = max(len(text.encode()) for text, _ in rows)
    assert task.signature.model_dump(exclude_defaults=True) == {
        "vocab_size": 257,
        "max_length": longest,
        "num_classes": 2,
    }
    assert data.sizes == {"train": 32, "valid": 4, "test": 4}
    assert task.found.counts == {"train": (16, 16), "valid": (2, 2), "test": (2, 2)}


def test_a_tsv_has_no_quotes(tmp_path):
    rows = [(f'"{i} an open quote', "ab"[i % 2]) for i in range(20)]
    assert sorted(examples(write_tsv(tmp_path / "r.tsv", rows))) == sorted(
        (text.encode(), label) for text, label in rows
    )


def test_a_csv_may_have_semicolons_and_a_mark_at_its_beginning(tmp_path):
    path = write_csv(tmp_path / "r.csv", reviews(), delimiter=";", encoding="utf-8-sig")
    assert len(examples(path)) == 40


def test_the_examples_do_not_depend_on_the_order_of_the_rows(tmp_path):
    rows = reviews()
    one, other = (
        taken(write_csv(tmp_path / name, order))[1]
        for name, order in (("a.csv", rows), ("b.csv", rows[::-1]))
    )
    for split in SPLITS:
        texts = [
            {each.sequence(i).tobytes() for i in range(len(each))}
            for each in (one.split(split), other.split(split))
        ]
        assert texts[0] == texts[1]


def test_columns_are_chosen_by_name(tmp_path):
    rows = [("x", text, f"{i % 3}") for i, (text, _) in enumerate(reviews())]
    path = write_csv(tmp_path / "r.csv", rows, header=("no", "the review", "stars"))
    found = examples(path, text="the review", label="stars")
    assert {label for _, label in found} == {"0", "1", "2"}
    assert all(text.startswith(b"review") for text, _ in found)


def test_a_table_without_names_has_numbers(tmp_path):
    path = write_csv(tmp_path / "r.csv", reviews(), header=None)
    assert len(examples(path, header=False, text="1", label="2")) == 40


def test_two_columns_are_a_pair(tmp_path):
    rows = [(f"question {i}", f"answer {i}", "ab"[i % 2]) for i in range(30)]
    path = write_csv(tmp_path / "r.csv", rows, header=("q", "a", "label"))
    assert sorted(examples(path, text="q,a")) == sorted(
        (q.encode(), a.encode(), label) for q, a, label in rows
    )
    assert taken(path, text="q,a")[0].signature.num_sequences == 2


def test_a_column_names_the_splits(tmp_path):
    words = ["train"] * 6 + ["Val", "test"]
    rows = [(*row, words[i % 8]) for i, row in enumerate(reviews())]
    path = write_csv(tmp_path / "r.csv", rows, header=("text", "label", "part"))
    task, data = taken(path, split="part")
    assert data.sizes == {"train": 30, "valid": 5, "test": 5}
    assert task.found.splits == "column part"


def test_files_name_the_splits_and_what_is_missing_is_held_out(tmp_path):
    rows = reviews(60)
    (tmp_path / "r").mkdir()
    write_csv(tmp_path / "r" / "train.csv", rows[:40])
    write_csv(tmp_path / "r" / "test.csv", rows[40:])
    task, data = taken(tmp_path / "r")
    assert task.name == "r.csv/"
    assert data.sizes == {"train": 36, "valid": 4, "test": 20}
    assert task.found.splits == (
        "as its files are named; valid: a fixed tenth of each class of train"
    )


def test_folders_name_the_splits(tmp_path):
    for split in ("train", "dev", "test"):
        write_folder(tmp_path / "r" / split, [(f"{split} {t}", n) for t, n in reviews(10)])
    assert taken(tmp_path / "r")[1].sizes == {"train": 10, "valid": 10, "test": 10}


def test_copies_go_to_one_split_and_those_that_leak_are_counted(tmp_path):
    rows = [row for row in reviews(50) for _ in range(3)]
    assert set(taken(write_csv(tmp_path / "r.csv", rows))[0].found.copies.values()) == {0}
    rows = [(*row, "train") for row in reviews(30)]
    rows += [(*row, split) for split in ("valid", "test") for row in reviews(6)[2:]]
    task, _ = taken(
        write_csv(tmp_path / "s.csv", rows, header=("text", "label", "split")), split="split"
    )
    assert task.found.copies == {"valid and train": 4, "test and train": 4, "test and valid": 4}
    assert "4 examples are in test and train" in task.found.warnings()[1]


def test_empty_examples_are_left_out_and_counted(tmp_path):
    rows = [*reviews(), ("", "good"), ("", "bad")]
    task, data = taken(write_csv(tmp_path / "r.csv", rows))
    assert (task.found.num_empty, sum(data.sizes.values())) == (2, 40)


def test_the_card_has_quantiles_and_names_unseen_classes(tmp_path):
    rows = [("a" * (i + 1), "ab"[i % 2], "train") for i in range(9)]
    rows += [("bb b", "c", "valid"), ("cc c", "a", "test")]
    path = write_csv(tmp_path / "r.csv", rows, header=("text", "label", "split"))
    card = taken(path, split="split")[0].found
    assert list(card.lengths["train"].values()) == [1, 3, 5, 7, 9]
    assert card.longest == 9
    assert card.warnings() == ["1 classes have no example in train: c"]


def test_numbers_are_classes_in_their_order(tmp_path):
    rows = [(f"text {i}", str(8 + i % 3)) for i in range(60)]
    assert taken(write_csv(tmp_path / "r.csv", rows))[0].found.classes == ("8", "9", "10")


@pytest.mark.parametrize("write", [write_csv, write_folder])
def test_byte_pairs_spell_the_same_texts_with_fewer_tokens(write, tmp_path):
    rows = reviews()
    path = write(tmp_path / ("r.csv" if write is write_csv else "r"), rows)
    task, data = taken(path, tokens="bpe", vocabulary=300)
    train = data.split("train")
    texts = [task.describe([train.sequence(i)], int(train.labels[i])) for i in range(len(train))]
    assert set(texts) <= {f"{label}:\n{text}" for text, label in rows}
    assert task.found.unit == "tokens"
    assert 258 < task.signature.vocab_size <= 301
    assert train.lengths.max() < max(len(text) for text, _ in rows)
    assert data.fingerprint == taken(path, tokens="bpe", vocabulary=300)[1].fingerprint


def test_byte_pairs_are_learned_from_the_training_examples_alone(tmp_path):
    rows = [(*row, "train") for row in reviews()]
    rows += [("zq" * 50 + str(i), "good", split) for i in range(9) for split in ("valid", "test")]
    path = write_csv(tmp_path / "r.csv", rows, header=("text", "label", "split"))
    _, data = taken(path, split="split", tokens="bpe", vocabulary=300)
    assert "zq" not in (data.folder / "tokeniser.json").read_text()


# values


def real_values(task, tokens):
    """Turn tokens back into the values that they stand for."""
    card = task.found
    share = tokens / (card.vocab_size - 2)
    return card.low + share * (card.high - card.low)


def test_series_keep_their_values_and_lengths(tmp_path):
    x, y = series()
    np.savez(tmp_path / "s.npz", x=x, y=y)
    task, data = taken(tmp_path / "s.npz")
    assert task.signature.has_values
    assert (task.signature.vocab_size, task.signature.max_length) == (65_537, 30)
    assert task.found.classes == ("0", "1")
    rows = {round(float(row[0]), 2): row[~np.isnan(row)] for row in x}
    train = data.split("train")
    for i in range(len(train)):
        values = real_values(task, train.sequence(i).astype(float))
        np.testing.assert_allclose(values, rows[round(float(values[0]), 2)], atol=1e-3)


def test_the_model_reads_a_value_as_the_same_number(tmp_path):
    torch = pytest.importorskip("torch")
    x, y = series()
    np.savez(tmp_path / "s.npz", x=x, y=y)
    task, data = taken(tmp_path / "s.npz")
    ids = torch.from_numpy(data.split("train").tokens.astype(np.int64)) + 1
    read = values_of(ids.double(), task.signature.vocab_size)
    assert read.min() == -1
    assert read.max() == 1


def test_the_scale_is_that_of_the_training_examples(tmp_path):
    x, y = series()
    x[:, 0] = 0
    train, test = np.abs(np.nan_to_num(x[:30])), np.abs(np.nan_to_num(x[30:])) * 10
    np.savez(tmp_path / "s.npz", x_train=train, y_train=y[:30], x_test=test, y_test=y[30:])
    card = taken(tmp_path / "s.npz")[0].found
    assert card.low == 0
    assert card.high <= train.max()
    assert 0.1 < card.clipped < 0.5
    assert card.splits.startswith("as its arrays are named; valid:")


def test_a_wild_value_does_not_squeeze_the_others(tmp_path):
    x, y = np.random.default_rng(0).normal(0, 1, (200, 50)), np.arange(200) % 2
    x[:, 7][::9] = 1e6
    np.savez(tmp_path / "s.npz", x=x, y=y)
    calm = taken(tmp_path / "s.npz")[0].found
    assert calm.high < 1e6


def test_pictures_stay_bytes(tmp_path):
    x = np.random.default_rng(0).integers(0, 256, (40, 4, 6), np.uint8)
    np.savez(tmp_path / "p.npz", x=x, y=np.array(["cat", "dog"] * 20))
    task, data = taken(tmp_path / "p.npz")
    assert task.signature.vocab_size == 257
    assert task.signature.has_values
    assert task.card.image_shape == (4, 6)
    assert task.changed(max_length=10).card.image_shape is None
    assert {row for row, _ in examples(tmp_path / "p.npz")} == {each.tobytes() for each in x}
    assert data.tokens == "uint8"


def test_labels_of_an_array_lie_beside_it(tmp_path):
    x, y = series()
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "labels.npy", y.astype(float))
    first, _ = taken(tmp_path / "x.npy", label="labels.npy")
    assert first.found.classes == ("0", "1")
    np.save(tmp_path / "labels.npy", 1 - y)
    assert taken(tmp_path / "x.npy", label="labels.npy")[0].data != first.data


def test_recordings_have_their_class_in_folders_or_names(tmp_path):
    folder = write_recordings(tmp_path / "speech")
    write_tree(tmp_path / "speech", {"README.md": b"about"})
    task, data = taken(folder)
    assert task.name == "speech.wav/"
    assert (task.signature.max_length, task.signature.has_values) == (89, True)
    assert task.found.unit == "samples"
    assert sum(data.sizes.values()) == 40
    flat = {f"{p.parent.name}_{p.name}": p.read_bytes() for p in folder.glob("*/*.wav")}
    named = taken(write_tree(tmp_path / "flat", flat), label=r"^(\d)_")[1]
    assert named.fingerprint == data.fingerprint


def test_recordings_at_a_lower_rate_are_shorter(tmp_path):
    folder = write_recordings(tmp_path / "speech")
    assert taken(folder, rate=4000)[0].signature.max_length == 44


# names, recipes, and what is read


@pytest.fixture
def table(tmp_path):
    return write_csv(tmp_path / "r.csv", reviews())


def test_the_recipe_names_the_data_and_not_its_place(table, monkeypatch):
    first = preset("../r.csv", "linear")
    assert preset(str(table), "linear") == first
    assert (first.task.name, len(first.task.data)) == ("r.csv", 12)
    assert str(table.parent) not in first.model_dump_json()
    table.write_bytes(table.read_bytes() + b"one more,good\r\n")
    assert preset(str(table), "linear").id != first.id
    table.unlink()
    assert open_prepared(build_task(first), default_home())


def test_its_command_gives_the_same_recipe_without_the_file(tmp_path):
    rows = [(text, label, label) for text, label in reviews()]
    path = write_csv(tmp_path / "r.csv", rows, header=("the review", "x", "label"))
    recipe = preset(str(path), "linear", options={"text": "the review", "label": "x"})
    words = command(recipe)
    assert "--set 'task.text=the review'" in words
    path.unlink()
    sets = ["task.text=the review", "task.label=x", f"task.data={recipe.task.data}"]
    assert override(preset("r.csv", "linear"), sets) == recipe


def test_other_columns_are_other_data(table):
    rows = [(text, label, str(i % 3)) for i, (text, label) in enumerate(reviews())]
    path = write_csv(table, rows, header=("text", "label", "stars"))
    (one, first), (other, second) = taken(path), taken(path, label="stars")
    assert one.data == other.data
    assert first.fingerprint != second.fingerprint
    assert other.variant == f"{other.data},label=stars"


def test_a_column_of_any_name_is_a_folder_of_its_own(table):
    names = ["a/b", "a b", "../../x", "é" * 100]
    rows = [(text, *[str(i % 2)] * 4) for i, (text, _) in enumerate(reviews())]
    path = write_csv(table, rows, header=("text", *names))
    folders = [taken(path, label=name)[0].folder(default_home()) for name in names]
    assert len(set(folders)) == 4
    assert {folder.parent for folder in folders} == {default_home() / "r.csv"}


def test_length_and_size_only_say_how_much_is_read(table):
    task, data = taken(table)
    short = override(preset(str(table), "linear"), ["task.max_length=5", "task.size=0.5"])
    part = open_prepared(build_task(short), default_home())
    assert part.folder == data.folder
    assert build_task(short).signature.max_length == 5
    assert [len(part.split(split)) for split in SPLITS] == [16, 2, 2]
    assert part.split("train").lengths.max() == 5
    assert task.signature.max_length > 5
    assert build_task(short).variant == f"{task.data},max_length=5,size=0.5"


def test_a_damaged_or_missing_dataset_says_how_to_get_it(table):
    task, data = taken(table)
    (data.folder / "dataset.json").write_text("{}")
    with pytest.raises(UserError, match="run: longarena data prepare PATH"):
        task.signature  # noqa: B018
    with pytest.raises(UserError, match=r"r\.csv is neither a task nor data here"):
        build_task(preset("r.csv", "linear")).signature  # noqa: B018


@pytest.mark.parametrize("task", ["secret.csv", "secret.npz", "secret.wav/", "secret.txt/"])
@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_looks_for_no_data(name, task, monkeypatch):
    """Records name data of other people; to show them is not to read it."""
    for look in ("exists", "read_text", "open", "iterdir"):
        monkeypatch.setattr(Path, look, lambda path, *_: pytest.fail(f"looked for {path}"))
    recipe = PRESETS[name](task, "linear", 0)
    has_values = task in ("secret.npz", "secret.wav/")
    assert recipe is None or recipe.model.input == ("value" if has_values else "embed")


def test_what_is_taken_in_twice_is_read_once(table, monkeypatch):
    taken(table)
    monkeypatch.setattr("longarena.tasks.prepare.write_data", lambda *_: pytest.fail("read again"))
    taken(table)


def test_the_facts_of_prepared_data_are_plain_json(table):
    _, data = taken(table)
    facts = json.loads((data.folder / "dataset.json").read_text())["facts"]
    assert facts["found"]["classes"] == ["bad", "good"]
    assert facts["data"] == taken(table)[0].data


@pytest.mark.parametrize(
    ("files", "name"),
    [
        ({"train.csv": b""}, "x.csv/"),
        ({"Test.JSONL": b"", "a.txt": b""}, "x.jsonl/"),
        ({"a/1.wav": wav([1])}, "x.wav/"),
        ({"README": b"", "a/1.wav": wav([1])}, "x.wav/"),
        ({"a/1": b""}, "x.txt/"),
    ],
)
def test_a_folder_is_called_by_what_is_in_it(files, name, tmp_path):
    assert name_of(write_tree(tmp_path / "x", files)) == name

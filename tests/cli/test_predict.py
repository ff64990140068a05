"""longarena export model, then predict: any file of examples, by a run or an exported model."""

import csv
import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from cli.commands import assert_refused
from inference.models import own_recipe, pairs_run, trained
from tasks.own_data import reviews, series, write_csv, write_jsonl, write_recordings, write_tsv
from tasks.sources import wav

import longarena
from longarena.inference.examples import read_file
from longarena.recipes.recipe import build_task
from longarena.tasks.base import SPLITS, default_home
from longarena.tasks.prepare import open_prepared
from longarena.training.export import find_model

ROWS = [(text.replace("\n", " "), label) for text, label in reviews(12)]


def text_run(folder):
    path = write_csv(folder / "reviews.csv", reviews(), header=("review", "stars"))
    return trained(
        folder, lambda: own_recipe(path, "task.max_length=24", text="review", label="stars")
    )


def series_run(folder):
    x, y = series()
    np.savez(folder / "series.npz", values=x, kind=y)
    return trained(folder, lambda: own_recipe(folder / "series.npz", values="values", label="kind"))


def sound_run(folder):
    write_recordings(folder / "sounds", rate=8000)
    return trained(folder, lambda: own_recipe(folder / "sounds", rate=4000))


RUNS = {"text": text_run, "series": series_run, "sound": sound_run, "pairs": pairs_run}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """What trains a run on one kind of data, once."""
    made = {}

    def make(kind):
        if kind not in made:
            made[kind] = RUNS[kind](tmp_path_factory.mktemp(kind))
        return made[kind]

    return make


@pytest.fixture
def predict(runs, run, monkeypatch, tmp_path):
    """Predict with a run in an empty folder; `given` is standard input."""

    def call(kind, *words, given=None):
        folder = runs(kind).path
        monkeypatch.setenv("LONGARENA_HOME", str(folder.parents[3] / "home"))
        if given is not None:
            stdin = SimpleNamespace(buffer=io.BytesIO(given), isatty=lambda: False)
            monkeypatch.setattr(sys, "stdin", stdin)
        return run("predict", str(folder), *map(str, words))

    return call


def listed(rows):
    return sorted([tokens.tolist() for tokens in row] for row in rows)


def lines(ended):
    code, output, errors = ended
    assert code == 0, errors
    return [json.loads(line) for line in output.splitlines()]


@pytest.fixture
def texts(tmp_path):
    """The same texts in every format."""
    plain = tmp_path / "reviews.txt"
    plain.write_text("".join(f"{text}\n" for text, _ in ROWS), encoding="utf-8")
    folder = tmp_path / "folder"
    folder.mkdir()
    for number, (text, _) in enumerate(ROWS):
        (folder / f"{number:02}.md").write_bytes(text.encode())
    header = {"header": ("review", "stars")}
    return {
        "csv": (write_csv(tmp_path / "r.csv", ROWS, **header),),
        "tsv": (write_tsv(tmp_path / "r.tsv", ROWS, **header),),
        "jsonl": (write_jsonl(tmp_path / "r.jsonl", ROWS), "--text", "text"),
        "txt": (plain,),
        "folder": (folder,),
    }


def test_every_format_of_the_same_texts_gives_the_same_answers(predict, texts, monkeypatch):
    found = {name: lines(predict("text", *words, "--json")) for name, words in texts.items()}
    piped = lines(predict("text", "-", "--json", given=texts["txt"][0].read_bytes()))
    wanted = [(each["label"], each["probability"]) for each in piped]
    assert len(wanted) == len(ROWS)
    for rows in found.values():
        assert [(each["label"], each["probability"]) for each in rows] == wanted
    assert found["csv"][0]["place"] == "r.csv, line 2"
    assert found["folder"][1]["place"] == "01.md"
    assert piped[0]["place"] == "line 1"
    assert set(piped[0]["probabilities"]) == {"bad", "good"}


def test_an_exported_model_answers_as_its_run_does(predict, runs, run, texts, tmp_path):
    words = [str(texts["txt"][0]), "--json", "--quiet"]
    expected = predict("text", *words)
    code, output, _ = run("export", "model", str(runs("text").path), "--out", "model")
    assert code == 0
    assert output.splitlines()[:2] == [
        f"{tmp_path}/model/config.json",
        f"{tmp_path}/model/model.safetensors",
    ]
    assert output.endswith("next: longarena predict model\n")
    assert run("predict", "model", *words) == expected
    texts = [text for text, _ in ROWS]
    assert [each["probability"] for each in lines(expected)] == [
        each.probability for each in longarena.load("model").predict(texts)
    ]


def test_answers_are_written_as_a_table_and_counted(predict, texts, tmp_path):
    code, output, _ = predict("text", *texts["csv"], "--out", "answers.csv", "--quiet")
    assert code == 0
    assert output.startswith("answers.csv: 12 answers (")
    rows = list(csv.DictReader(io.StringIO((tmp_path / "answers.csv").read_text())))
    expected = lines(predict("text", *texts["csv"], "--json"))
    assert [(row["example"], row["place"]) for row in rows][:1] == [("1", "r.csv, line 2")]
    assert [float(row["probability"]) for row in rows] == [row["probability"] for row in expected]
    assert {row["label"] for row in rows} <= {"bad", "good"}


def test_what_is_cut_and_what_is_empty_is_said(predict, tmp_path):
    given = ("x" * 24 + "\n" + "x" * 25 + "\n\n" + "x" * 99 + "\n").encode()
    code, output, errors = predict("text", "-", given=given)
    assert code == 0
    assert "2 of 4 examples are longer than 24 tokens and were cut, as in training" in errors
    assert "1 of 4 examples have nothing to read" in errors
    assert output.splitlines()[2] == "line 3: nothing to read"
    one, two, _, four = (line.partition(": ")[2] for line in output.splitlines())
    assert one == two == four
    [*_, third, _] = lines(predict("text", "-", "--json", given=given))
    assert (third["label"], third["probability"]) == (None, None)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("text", "reviews.csv"),
        ("series", "series.npz"),
        ("sound", "sounds"),
        ("pairs", "pairs.csv"),
    ],
)
def test_what_is_read_becomes_the_tokens_that_were_trained_on(runs, monkeypatch, kind, name):
    run = runs(kind)
    folder = run.path.parents[3]
    monkeypatch.setenv("LONGARENA_HOME", str(folder / "home"))
    model = find_model(folder / "runs", run.path.name)
    found = [model.encode(each.parts) for each in read_file(folder / name, model.config)]
    task = build_task(run.read_recipe()).stored
    data = open_prepared(task, default_home())
    kept = [
        tuple(split.sequence(i, which) for which in range(split.num_sequences))
        for split in map(data.split, SPLITS)
        for i in range(len(split))
    ]
    assert listed(found) == listed(kept)


def test_arrays_are_read_by_the_name_they_had_or_alone(predict, tmp_path):
    x, _ = series()
    np.save(tmp_path / "s.npy", x)
    np.savez(tmp_path / "one.npz", anything=x)
    np.savez(tmp_path / "two.npz", values=x, other=np.zeros(3))
    found = [lines(predict("series", name, "--json")) for name in ("s.npy", "one.npz", "two.npz")]
    numbers = [[each["probability"] for each in rows] for rows in found]
    assert numbers[0] == numbers[1] == numbers[2]
    assert len(set(numbers[0])) > 10
    assert found[0][4]["place"] == "s.npy, row 5"


def test_recordings_are_read_one_by_one_or_in_a_folder(predict, tmp_path):
    write_recordings(tmp_path / "sounds", count=3, rate=8000)
    many = lines(predict("sound", "sounds", "--json"))
    assert [each["place"] for each in many] == ["0/0.wav", "0/2.wav", "1/1.wav"]
    [one] = lines(predict("sound", "sounds/1/1.wav", "--json"))
    assert one["probability"] == many[2]["probability"]


def test_pairs_are_read_from_two_columns_or_with_a_tab_between(predict, tmp_path):
    rows = [("is it é?", "no"), ("why", "so it is")]
    write_csv(tmp_path / "p.csv", rows, header=("question", "answer"))
    write_csv(tmp_path / "q.csv", rows, header=("a", "b"))
    expected = lines(predict("pairs", "p.csv", "--json"))
    piped = lines(predict("pairs", "-", "--json", given="is it é?\tno\nwhy\tso it is\n".encode()))
    other = lines(predict("pairs", "q.csv", "--json", "--text", "a,b"))
    numbers = [[each["probability"] for each in rows] for rows in (expected, piped, other)]
    assert numbers[0] == numbers[1] == numbers[2]


@pytest.mark.parametrize(
    ("kind", "content", "words", "said"),
    [
        ("text", None, "nowhere.csv", "nowhere.csv does not exist"),
        ("text", b"", "a.npy", "this model reads text from .csv, .tsv"),
        ("text", b"a\n", "a.txt --text b", "is not a table; leave out --text"),
        ("text", b"text\nx\n", "a.csv", "unknown column of a.csv 'review'"),
        ("text", b"a\n\xff\n", "a.txt", "a.txt, line 2 is not UTF-8"),
        ("text", b"text\n", "b/a.csv b", "has a table in it; name that"),
        ("series", b"x\n1\n", "a.csv", "this model reads values from .npy, .npz"),
        ("sound", b"x", "b/a.txt b", "b has no .wav files"),
        ("sound", wav(np.zeros(9), rate=6000), "a.wav", "cannot be averaged to 4000"),
        ("pairs", b"one\n", "a.txt", "a.txt, line 1: a pair has one tab"),
        ("pairs", b"a\n1\n", "a.csv --text a", "pairs: --text COLUMN,COLUMN"),
    ],
)
def test_what_cannot_be_read_is_refused_in_a_line(predict, kind, content, words, said):
    path, *rest = map(str, words.split())
    if content is not None:
        Path(path).parent.mkdir(exist_ok=True)
        Path(path).write_bytes(content)
    # a file in a folder is there to have the folder named
    named = rest if rest and rest[0] == "b" else [path, *rest]
    assert_refused(predict(kind, *named), said)


def test_a_mistake_far_down_is_found_before_anything_is_answered(predict, tmp_path):
    x = np.ones((500, 9))
    x[400, 3] = np.inf
    np.save(tmp_path / "s.npy", x)
    assert_refused(predict("series", "s.npy"), "s.npy, row 401: it has a value that is no number")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["predict", "nowhere", "a.csv"], "unknown run 'nowhere'"),
        (["predict", ".", "a.csv"], "has no config.json; make a whole folder"),
        (["export", "model"], "which model? longarena export model RUN"),
        (["export", "scores", "0123"], "export scores takes no run"),
        (["export", "model", "nowhere"], "unknown run 'nowhere'"),
    ],
)
def test_a_model_that_is_not_there_is_refused(run, words, said):
    assert_refused(run(*words), said)

"""From a table of one's own to a result, as an engineer would type it."""

import json
import shutil
from pathlib import Path

import pytest
from cli.commands import assert_refused
from tasks.own_data import reviews, write_csv, write_recordings

COLUMNS = ("--text", "review", "--label", "stars")
SMALL = ("--set", "batch_size=4", "--set", "task.max_length=16", "--steps", "2", "--quiet")


@pytest.fixture
def table(tmp_path):
    (tmp_path / "shop").mkdir()
    return write_csv(tmp_path / "shop" / "r.csv", reviews(), header=("review", "stars"))


def test_the_card_and_examples_are_shown(run, table):
    code, output, _ = run("data", "show", "shop/r.csv", *COLUMNS, "--count", "1")
    assert code == 0
    assert "examples: train 32, valid 4, test 4 (a fixed 80, 10 and 10 percent" in output
    assert "classes: 2: bad 50.0%, good 50.0%" in output
    assert "review" in output.partition("read: ")[2]


def test_a_program_gets_all_of_the_card(run, table):
    _, output, _ = run("data", "show", "shop/r.csv", *COLUMNS, "--json")
    found = json.loads(output)
    assert found["card"]["counts"] == {"train": [16, 16], "valid": [2, 2], "test": [2, 2]}
    assert found["card"]["warnings"] == []
    assert len(found["examples"]) == 3


def test_a_table_is_trained_on_and_its_record_shown_elsewhere(run, table, monkeypatch, tmp_path):
    code, output, errors = run("train", "shop/r.csv", "linear", *COLUMNS, *SMALL, "--json")
    assert (code, errors) == (0, "")
    record = json.loads(output)
    choice = record["recipe"]["task"]
    assert (choice["name"], len(choice["data"])) == ("r.csv", 12)
    assert choice["options"] == {"max_length": 16, "text": "review", "label": "stars"}
    assert record["variant"] == f"{choice['data']},label=stars,max_length=16,text=review"
    assert record["fingerprint"]
    # another machine: neither the file nor what was prepared from it
    shutil.rmtree(tmp_path / "shop")
    monkeypatch.setenv("LONGARENA_HOME", str(tmp_path / "other"))
    code, output, _ = run("show", "run", record["id"], "--store", "runs/records")
    assert code == 0
    assert f"--set task.data={choice['data']}" in output
    _, output, _ = run("export", "scores")
    assert "r.csv" in Path(output.strip()).read_text()
    assert_refused(run("evaluate", record["id"]), "run: longarena data prepare PATH")


def test_leaking_copies_are_a_warning_with_their_number(run, tmp_path):
    rows = [(*row, "train") for row in reviews(20)] + [(*row, "test") for row in reviews(3)]
    write_csv(tmp_path / "r.csv", rows, header=("text", "label", "split"))
    words = ("r.csv", "--set", "task.split=split")
    line = "warning: 3 examples are in test and train"
    assert line in run("data", "prepare", *words)[1]
    assert line in run("data", "show", *words)[1]
    code, _, errors = run("train", "r.csv", "linear", *words[1:], *SMALL)
    assert code == 0
    assert errors.startswith(f"longarena: {line}")


@pytest.mark.parametrize("words", ["data show", "train", "show recipe"])
def test_a_wrong_column_is_one_line_with_the_columns(run, table, words):
    mixer = [] if words == "data show" else ["linear"]
    ended = run(*words.split(), "shop/r.csv", *mixer, "--label", "star", "--text", "review")
    assert_refused(ended, "did you mean stars? (known: review, stars)")


def test_a_sweep_takes_columns_and_leaves_out_no_mixer(run, table):
    words = ("--tasks", "shop/r.csv", *COLUMNS, "--dry-run", "--json")
    _, output, _ = run("sweep", *words, "--mixers", "all")
    mixers = {each["mixer"] for each in json.loads(output)["runs"]}
    assert "linformer" in mixers  # which cannot be causal, and need not be
    assert len(mixers) > 20


def test_recordings_are_read_as_values(run, tmp_path):
    write_recordings(tmp_path / "speech")
    _, output, _ = run("data", "show", "speech")
    assert "lengths in samples" in output
    assert "values: from -" in output
    _, output, _ = run("show", "recipe", "speech", "s4d")
    assert json.loads(output)["model"]["input"] == "value"
    assert json.loads(output)["task"]["name"] == "speech.wav/"

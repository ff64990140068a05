"""Longer sequences from the command line: extended, shown, listed, refused."""

import json
import shlex
from pathlib import Path

import pytest
from cli.commands import SMALL_WORDS, assert_refused
from training.runs import small_recipe

from longarena.recipes.extending import extended
from longarena.training.folder import RunFolder

BEFORE = small_recipe("linear", "steps=4")
TRAIN = ["train", "listops", "linear", *SMALL_WORDS, "--set", "steps=4", "--quiet"]


@pytest.fixture
def trained(run):
    """Train the run before; return what calls the command line."""
    assert run(*TRAIN)[0] == 0
    return run


def test_a_run_is_extended_shown_and_listed(trained):
    words = ["extend", BEFORE.id[:6], "--length", "100", "--only-positions", "--steps", "2"]
    code, output, _ = trained(*words, "--set", "label_smoothing=0.1")
    assert code == 0
    assert "begun with 4 steps of training at length 40" in output
    recipe = extended(BEFORE, 100, only_positions=True, steps=2, changes=("label_smoothing=0.1",))
    shown = json.loads(trained("show", "run", recipe.id, "--json")[1])
    assert shown["record"]["start"]["run"] == BEFORE.id
    # the command that is shown makes the same run
    code, output, _ = trained(*shlex.split(shown["command"])[1:], "--json")
    assert code == 0
    assert json.loads(output)["id"] == recipe.id
    rows = json.loads(trained("list", "runs", "--json")[1])
    assert {row["run"]: row["extended"] for row in rows} == {BEFORE.id: None, recipe.id: 40}


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        ("--length 40", "choose a greater length"),
        ("--length 100 --rate 0", "--rate 0 is not above 0"),
        ("--length 100 --set model.depth=3", "leave out --set model"),
        ("--length 100 --set optimiser.rat=3", "did you mean optimiser.rate"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_two(run, words, answer):
    run("list", "runs")  # moves to a folder of its own
    RunFolder.of(Path("runs"), BEFORE).write_recipe(BEFORE)
    assert_refused(run("extend", BEFORE.id, *words.split()), answer)


def test_a_mechanism_with_weights_for_a_length_is_refused_before_training(run):
    recipe = small_recipe("linformer")
    run("list", "runs")
    RunFolder.of(Path("runs"), recipe).write_recipe(recipe)
    ended = run("extend", recipe.id, "--length", "100")
    assert_refused(ended, "train it at the new length")

"""Pretraining from the command line: trained, shown, listed, swept."""

import json
from pathlib import Path

import numpy as np
import pytest
from cli.commands import SMALL_WORDS, assert_refused
from tasks.own_data import reviews, series, write_csv
from training.runs import small_recipe

from longarena.recipes.pretraining import pretrained, start_of
from longarena.training.folder import RunFolder

QUICKLY = ("--set", "batch_size=4", "--set", "task.max_length=16", "--steps", "2", "--quiet")


def test_a_run_is_pretrained_shown_and_listed(run):
    words = ["train", "listops", "linear", *SMALL_WORDS, "--pretrain", "8"]
    code, output, errors = run(*words)
    assert code == 0
    assert "pretraining listops linear: 8/8" in errors
    assert "begun with 8 steps of pretraining" in output
    recipe = pretrained(small_recipe(), 8)
    start = start_of(recipe)
    assert start.id in run("show", "run", recipe.id)[1]
    _, shown, _ = run("show", "run", start.id)
    assert "that of a run that begins with this one" in shown
    listed = {row["run"]: row for row in json.loads(run("list", "runs", "--json")[1])}
    assert {name: row["pretraining"] for name, row in listed.items()} == {
        recipe.id: 8,
        start.id: "itself",
    }


@pytest.mark.parametrize(
    ("name", "share", "target"),
    [("r.csv", 0.15, "token"), ("s.npz", 0.25, "value"), ("pictures.npz", 0.5, "value")],
)
def test_data_of_the_user_s_is_pretrained_on_too(run, tmp_path, name, share, target):
    write_csv(tmp_path / "r.csv", reviews())
    x, y = series()
    np.savez(tmp_path / "s.npz", x=x, y=y)
    np.savez(tmp_path / "pictures.npz", x=np.arange(40 * 16, dtype=np.uint8).reshape(40, 4, 4), y=y)
    code, output, _ = run("train", name, "linear", *QUICKLY, "--pretrain", "2", "--json")
    assert code == 0
    chosen = json.loads(output)["recipe"]["pretraining"]
    assert chosen == {"share": share, "target": target, "steps": 2, "rate": None}


def test_a_run_that_is_still_pretrained_says_how_far_it_is(run):
    recipe = pretrained(small_recipe(), 8)
    folder, before = (RunFolder.of(Path("runs"), each) for each in (recipe, start_of(recipe)))
    run("list", "runs")  # moves to a folder of its own
    for each, of in ((folder, recipe), (before, start_of(recipe))):
        each.write_recipe(of)
    before.log.write_text('{"step": 3, "loss": 2.0}\n')
    _, output, _ = run("show", "run", recipe.id)
    assert f"at step 0 of 12, its pretraining {before.path.name} at step 3 of 8" in output


def test_a_sweep_pretrains_every_run_and_sets_apart_what_belongs_to_it(run):
    words = ["sweep", "--tasks", "listops", "--mixers", "linear,local", *SMALL_WORDS]
    words += ["--pretrain", "8", "--set", "pretraining.rate=0.1", "--dry-run", "--json"]
    code, output, _ = run(*words)
    assert code == 0
    wanted = [pretrained(small_recipe(mixer), 8, rate=0.1).id for mixer in ("linear", "local")]
    assert [row["run"] for row in json.loads(output)["runs"]] == wanted


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        ("train recall linear --pretrain 8", "leave out --pretrain"),
        ("train listops linear --set pretraining.rate=1", "add --pretrain STEPS"),
        ("train listops linear --pretrain 8 --set pretraining.share=1", "less than 1"),
        ("sweep --tasks listops --tune pretraining.steps=1,2 --pretrain 8", "cannot be tuned"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_two(run, words, answer):
    assert_refused(run(*words.split()), answer)

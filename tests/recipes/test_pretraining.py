"""What is hidden in which task, and what a start has of its run."""

import pytest

from longarena.errors import UserError
from longarena.recipes.masking import Masking
from longarena.recipes.presets import preset
from longarena.recipes.pretraining import apart, pretrained, start_of
from longarena.recipes.recipe import Recipe, build_task, note_source, override, signature_of

RECIPE = preset("listops", "linear")


@pytest.mark.parametrize(
    ("task", "preset_name", "share", "target"),
    [
        ("listops", "cpu", 0.1, "token"),
        ("text", "cpu", 0.15, "token"),
        ("retrieval", "small", 0.15, "token"),
        ("image", "cpu", 0.5, "value"),
        ("image", "paper", 0.5, "token"),
        ("pathfinder", "cpu", 0.5, "token"),
        ("path-x", "quick", 0.5, "token"),
        ("digits", "cpu", 0.25, "value"),
    ],
)
def test_what_is_hidden_goes_by_the_task_as_in_the_paper(task, preset_name, share, target):
    recipe = pretrained(preset(task, "linear", preset_name), 10)
    assert start_of(recipe).masking == Masking(share=share, target=target)


@pytest.mark.parametrize("task", ["enwik8", "recall", "multi30k"])
def test_other_tracks_are_refused(task):
    with pytest.raises(UserError, match="cannot be pretrained"):
        pretrained(preset(task, "linear", "cpu"), 10)


def test_a_start_has_all_of_its_run_but_what_comes_later():
    later = ["label_smoothing=0.1", "patience=2", "average_checkpoints=3", "evaluate_every=7"]
    recipe = pretrained(override(RECIPE, [*later, "optimiser.slow_rate=0.5", "seed=3"]), 200)
    start = start_of(recipe)
    same = {"preset", "task", "model", "batch_size", "accumulate", "precision", "compile", "seed"}
    assert start.model_dump(include=same) == recipe.model_dump(include=same)
    assert (start.steps, start.optimiser, start.pretraining) == (200, recipe.optimiser, None)
    assert start == start_of(pretrained(override(recipe, ["label_smoothing=0"]), 200))
    assert start.schedule.warmup_steps == recipe.schedule.warmup_steps / recipe.steps * 200
    # it is a recipe like any other
    assert Recipe.model_validate_json(start.model_dump_json()) == start
    assert start_of(start) is None


def test_what_changes_in_a_recipe_changes_in_its_start():
    recipe = override(pretrained(RECIPE, 200), ["model.depth=3", "optimiser.rate=0.5"])
    assert (start_of(recipe).model.depth, start_of(recipe).optimiser.rate) == (3, 0.5)
    slower = override(recipe, ["pretraining.rate=0.1"])
    assert (start_of(slower).optimiser.rate, slower.optimiser.rate) == (0.1, 0.5)
    assert start_of(override(slower, ["optimiser.rate=0.2"])) == start_of(slower)


def test_a_recipe_without_pretraining_keeps_its_id_and_one_with_has_another():
    assert RECIPE.id == "9838d6598c"
    found = {RECIPE.id, pretrained(RECIPE, 10).id, start_of(pretrained(RECIPE, 10)).id}
    assert len(found) == 3


def test_the_track_of_a_recipe_is_the_task_s_own_unless_tokens_are_hidden():
    task, start = build_task(RECIPE), start_of(pretrained(RECIPE, 10))
    assert signature_of(RECIPE, task) == task.signature
    asked = signature_of(start, task)
    assert (asked.track, asked.masked_share) == ("denoising", 0.1)


def test_the_keys_of_a_pretraining_need_one():
    with pytest.raises(UserError, match="add --pretrain STEPS"):
        override(RECIPE, ["pretraining.rate=0.1"])
    with pytest.raises(UserError, match=r"pretraining.share = 1"):
        override(pretrained(RECIPE, 10), ["pretraining.share=1"])
    assert apart(["steps=5", "pretraining.rate=1"]) == (["steps=5"], ["pretraining.rate=1"])


def test_the_source_of_an_own_mixer_is_noted_in_both():
    recipe = note_source(pretrained(preset("listops", "attention.own_mixers:Mean"), 10))
    assert start_of(recipe).model.own == recipe.model.own is not None

"""The sweeps that come with the project."""

import re
from collections import Counter
from pathlib import Path

import pytest

from longarena.attention import MIXERS
from longarena.findings.receptive_field import receptive_field
from longarena.recipes.recipe import build_task, override
from longarena.records.folder import read_records
from longarena.sweep.grid import read_sweep
from longarena.sweeps import FOLDER
from longarena.tracks import track_of

ROOT = Path(__file__).parent.parent.parent
FIVE = {"listops", "text", "image", "retrieval", "pathfinder"}


@pytest.mark.parametrize("path", sorted(FOLDER.glob("[!_]*.py")), ids=lambda path: path.stem)
def test_a_sweep_has_runs_and_each_of_them_once(path):
    recipes = read_sweep(str(path))
    assert recipes
    assert len({recipe.id for recipe in recipes}) == len(recipes)


def test_the_sweep_that_the_page_shows_has_runs(tmp_path):
    [text] = re.findall(r"```python\n(.*?)```", (ROOT / "docs/clusters.md").read_text(), re.DOTALL)
    (tmp_path / "mine.py").write_text(text)
    assert len(read_sweep("mine", tmp_path)) == 6


@pytest.mark.parametrize(("sweep", "store"), [("cpu", "arena"), ("anchors", "anchors")])
def test_the_committed_runs_are_of_the_sweep(sweep, store):
    """Rates may have been tuned; a mechanism may be too new to have all its runs."""
    runs = read_records(ROOT / "results" / store).runs
    assert runs
    planned = {at_one_rate(recipe) for recipe in read_sweep(sweep, FOLDER)}
    assert {at_one_rate(run.recipe) for run in runs} <= planned


@pytest.mark.parametrize(
    "study", sorted((ROOT / "results/studies").iterdir()), ids=lambda p: p.name
)
def test_the_committed_runs_of_a_study_are_those_of_its_sweep(study):
    runs = read_records(study).runs
    assert runs
    assert {run.id for run in runs} <= {recipe.id for recipe in read_sweep(study.name, FOLDER)}


def at_one_rate(recipe):
    return override(recipe, ["optimiser.rate=0.001"]).id


def test_the_arena_on_a_cpu_fills_its_table_with_one_seed_first():
    recipes = read_sweep("cpu", FOLDER)
    first = recipes[: 5 * len(MIXERS)]
    assert {(r.model.mixer, r.task.name) for r in first} == {(m, t) for m in MIXERS for t in FIVE}
    assert {r.seed for r in first} == {0}
    again = recipes[len(first) :]
    assert {r.seed for r in again} == {1, 2}
    assert len({r.model.mixer for r in again}) == 5
    assert len({r.task.name for r in again}) == 2
    assert {r.task.data for r in recipes if r.task.name == "retrieval"} == {"aan-mini"}


def test_every_claim_is_a_model_that_can_be_built():
    for recipe in read_sweep("claims", FOLDER):
        signature = build_task(recipe).signature
        track_of(signature).build(recipe.model, signature, recipe.seed)


@pytest.mark.parametrize("task", ["image", "enwik8"])
def test_windows_that_grow_and_shrink_are_as_wide_in_all(task):
    windows = [
        recipe.model.options["window"]
        for recipe in read_sweep("claims", FOLDER)
        if (recipe.task.name, recipe.model.mixer, recipe.seed) == (task, "longformer", 0)
    ]
    even, growing, shrinking, dilated = windows
    assert dilated == even
    assert growing == sorted(growing) == shrinking[::-1]
    assert growing != shrinking
    assert sum(growing) == len(growing) * even


def test_the_tables_with_many_parts_have_three_seeds():
    recipes = read_sweep("claims", FOLDER)
    lines = Counter((r.task.name, r.model.mixer, str(r.model.options)) for r in recipes)
    several = {mixer for (_, mixer, _), count in lines.items() if count > 1}
    assert several == {"longformer", "poolingformer"}
    assert {count for (_, mixer, _), count in lines.items() if mixer in several} == {3}


def test_ten_seeds_are_validated_twenty_times():
    recipes = read_sweep("seeds", FOLDER)
    lines = Counter((recipe.task.name, recipe.model.mixer) for recipe in recipes)
    assert set(lines.values()) == {10}
    assert {recipe.steps // recipe.evaluate_every for recipe in recipes} == {20}


def test_locality_widens_the_field_and_shuffles_the_tokens_of_five_tasks():
    recipes = read_sweep("locality", FOLDER)
    in_order = [recipe for recipe in recipes if not recipe.task.shuffle]
    fields = {
        (mixer, field): {r.task.name for r in in_order if field_of(r) == (mixer, field)}
        for mixer, field in map(field_of, in_order)
    }
    assert set(map(frozenset, fields.values())) == {frozenset(FIVE)}
    kernels, windows = (
        [field for mixer, field in fields if mixer == name]
        for name in ("convolution", "longformer")
    )
    assert kernels == sorted(kernels)
    assert set(windows) < set(kernels)
    assert ("transformer", None) in fields
    shuffled = [recipe for recipe in recipes if recipe.task.shuffle]
    assert {recipe.task.name for recipe in shuffled} == FIVE
    for recipe in shuffled:
        block = int(recipe.task.shuffle.partition("-")[2] or 0)
        assert block <= build_task(recipe).signature.max_length // 4
    # each has a run in order to be compared with
    plain = {recipe.id for recipe in in_order}
    assert {override(recipe, ["task.shuffle="]).id for recipe in shuffled} <= plain


def field_of(recipe):
    return recipe.model.mixer, receptive_field(recipe.model)


def test_translations_are_compared_at_three_sizes_and_one_with_two_seeds():
    recipes = read_sweep("translation", FOLDER)
    plain = [r for r in recipes if not r.model.options]
    for mixer in ("transformer", "lite-transformer"):
        sizes = [(r.model.width, r.seed) for r in plain if r.model.mixer == mixer]
        assert len({width for width, _ in sizes}) == 3
        assert len(sizes) == 4
    # what cannot be causal reads, and another mechanism writes
    assert {r.model.mixer: r.model.decoder for r in recipes}["fnet"] == "transformer"
    assert len({r.steps for r in recipes}) == 1

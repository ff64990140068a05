"""The preset `own` against the numbers of the authors' files, written out here."""

import json
import math
from dataclasses import replace

import pytest

from longarena.attention import CARDS
from longarena.errors import UserError
from longarena.model.model import num_parameters
from longarena.recipes.presets import mixers_of, preset
from longarena.recipes.presets.own import RECIPES, own
from longarena.recipes.recipe import build_task
from longarena.recipes.schedule import rate
from longarena.tracks import track_of
from longarena.training.optimiser import slow_parameters

# layers, width, norm, dropout; rate, slow rate, decay; batch, updates, warm-up, schedule
FACTS = """
s4d       listops     8 128 batch 0.0  0.01   0.001  0.05 50   76800  1000 cosine
s4d       text        6 256 batch 0.0  0.01   0.001  0.05 16   49984  1000 cosine
s4d       retrieval   6 256 batch 0.0  0.01   0.001  0.05 64   45960  2500 cosine
s4d       image       6 512 layer 0.1  0.01   0.001  0.05 50  180000  1000 cosine
s4d       pathfinder  6 256 batch 0.0  0.004  0.001  0.03 64  500000  2500 cosine
s4d       path-x      6 256 batch 0.0  0.001  0.0005 0.05 16  500000 50000 cosine
s5        listops     8 128 batch 0.0  0.003  0.001  0.04 50   76800  1920 cosine
s5        text        6 256 batch 0.1  0.004  0.001  0.07 50   17500     0 cosine
s5        retrieval   6 128 batch 0.0  0.002  0.001  0.05 32   91920  4596 cosine
s5        image       6 512 batch 0.1  0.0045 0.001  0.07 50  225000   900 cosine
s5        pathfinder  6 192 batch 0.05 0.0045 0.0009 0.03 64  500000  2500 cosine
s5        path-x      6 128 batch 0.0  0.0018 0.0006 0.06 32  375000  5000 cosine
long-conv listops     8 128 batch 0.0  0.01   0.0005 0.05 50   76800 10000 cosine
long-conv text        6 256 batch 0.0  0.01   0.001  0.05 16   49984  5000 cosine
long-conv retrieval   6 256 batch 0.0  0.01   0.0001 0.05 64   45960  2500 cosine
long-conv image       6 512 layer 0.1  0.01   0.001  0.05 50  180000  1000 cosine
long-conv pathfinder  6 256 batch 0.0  0.004  0.001  0.03 64  500000  2500 cosine
long-conv path-x      6 256 batch 0.0  0.0005 0.0005 0.05 16  500000 10000 cosine
mega      listops     6  80 layer 0.1  0.001  None   0.01 64   90000  3000 linear
mega      text        4 128 rms   0.1  0.004  None   0.01 50   25000 10000 linear
mega      retrieval   6 128 rms   0.1  0.003  None   0.04 64   91960 10000 linear
mega      image       8 160 batch 0.0  0.01   None   0.02 50  180000  9000 linear
mega      pathfinder  6 128 batch 0.0  0.01   None   0.01 128 250000 50000 linear
lite-transformer iwslt14 6 320 layer 0.2 0.03162277660168379 None 0.0001 160 50000 4000 rsqrt
lite-transformer wmt14   6 496 layer 0.1 0.001 None 0.0 16000 50000 10000 cosine
mega      path-x      4  64 batch 0.0  0.01   None   0.01 128 125000 25000 linear
"""
ROWS = [line.split() for line in FACTS.strip().splitlines()]

# the options of the mixers: two tasks each, of which the second differs in all that can differ
OPTIONS = {
    ("s4d", "listops"): {"state": 64, "init": "legs", "dt_min": 0.001, "dt_max": 0.1},
    ("s4d", "path-x"): {"state": 64, "init": "legs", "dt_min": 0.0001, "dt_max": 0.1},
    ("s5", "listops"): {"state": 16, "blocks": 8, "dt_min": 0.001, "dt_max": 0.1},
    ("s5", "path-x"): {"state": 256, "blocks": 16, "dt_min": 0.0001, "dt_max": 0.1},
    ("long-conv", "image"): {"lam": 0.003, "kernel_dropout": 0.2, "init": "random"},
    ("long-conv", "path-x"): {"lam": 0.001, "kernel_dropout": 0.3, "init": "random"},
    ("mega", "listops"): {"ema": 16, "z": 64, "hidden": 160, "attention": "softmax"},
    ("mega", "path-x"): {"ema": 16, "z": 32, "hidden": 128, "attention": "laplace"},
    ("luna", "text"): {"packed": 256},
}

PAIRS = [(task, mixer) for mixer, tasks in RECIPES.items() for task in tasks]
# only what is in the table can be built
KNOWN = [(task, mixer) for task, mixer in PAIRS if mixer in CARDS]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]}-{row[1]}")
def test_a_recipe_has_the_numbers_of_its_authors(row):
    mixer, task, *facts = row
    recipe = own(task, mixer, 3)
    model, optimiser, schedule = recipe.model, recipe.optimiser, recipe.schedule
    found = [model.depth, model.width, model.norm, model.dropout]
    found += [optimiser.rate, optimiser.slow_rate, optimiser.weight_decay]
    found += [recipe.batch_size, recipe.steps, schedule.warmup_steps, schedule.kind]
    assert [str(value) for value in found] == facts


@pytest.mark.parametrize(("pair", "options"), OPTIONS.items())
def test_a_mixer_has_the_options_of_its_authors(pair, options):
    assert RECIPES[pair[0]][pair[1]].options == options


@pytest.mark.parametrize(("task", "mixer"), PAIRS)
def test_every_recipe_is_complete_and_asks_for_the_whole_official_data(task, mixer):
    recipe = own(task, mixer, 3)
    assert (recipe.preset, recipe.task.name, recipe.model.mixer, recipe.seed) == (
        *("own", task, mixer),
        3,
    )
    assert build_task(recipe).variant == ""
    assert 0 < recipe.evaluate_every <= recipe.steps // 10


def test_pixels_are_numbers_and_letters_are_not():
    assert own("pathfinder", "s5", 0).model.input == "value"
    assert own("listops", "s5", 0).model.input == "embed"
    assert own("pathfinder", "nystrom", 0).model.input == "embed"


def test_epochs_end_with_a_validation_of_our_own_data():
    # 22,500 of the 25,000 reviews are left to train on
    assert own("text", "s4d", 0).evaluate_every == 22_500 // 16


def test_nystrom_is_trained_as_small_but_for_its_own_options():
    ours, small = own("text", "nystrom", 0), preset("text", "transformer", "small")
    for part in ("optimiser", "schedule", "batch_size", "steps", "task"):
        assert getattr(ours, part) == getattr(small, part)
    assert ours.model.model_copy(update={"options": {}, "mixer": "transformer"}) == small.model


def test_the_rate_of_luna_peaks_where_its_commands_say():
    recipe = own("text", "luna", 0)
    peak = rate(recipe.schedule, recipe.optimiser.rate, 8_000 - 1, recipe.steps)
    last = rate(recipe.schedule, recipe.optimiser.rate, recipe.steps - 1, recipe.steps)
    assert (peak, last) == (pytest.approx(5e-5), pytest.approx(5e-5 * math.sqrt(8 / 20)))


@pytest.mark.parametrize(("task", "mixer"), KNOWN)
def test_every_recipe_builds_a_model_whose_slow_parameters_have_a_rate(task, mixer):
    recipe = preset(task, mixer, "own")
    signature = build_task(recipe).signature.model_copy(update={"max_length": 64})
    model = track_of(signature).build(recipe.model, signature, seed=0)
    assert num_parameters(model) > recipe.model.depth * recipe.model.width**2
    assert bool(slow_parameters(model)) == (recipe.optimiser.slow_rate is not None)


@pytest.mark.parametrize(
    ("task", "mixer", "others"),
    [
        ("image", "linformer", "paper or small"),
        ("pathfinder-256", "transformer", "paper or small"),
        ("longarena.tasks.listops:ListOps", "linear", "small"),  # as if it came from outside
    ],
)
def test_where_there_is_none_one_line_says_so_and_what_else_there_is(task, mixer, others):
    with pytest.raises(UserError) as caught:
        preset(task, mixer, "own")
    assert str(caught.value) == (
        f"preset own has no recipe for {task} with {mixer}: none by its authors is known; "
        f"choose {others}"
    )


@pytest.fixture
def for_linear(monkeypatch):
    """Pretend that the authors of `linear` published one recipe."""
    published = replace(RECIPES["s4d"]["image"], options={})
    monkeypatch.setitem(RECIPES, "linear", {"image": published})


@pytest.mark.usefixtures("for_linear")
def test_the_command_line_shows_the_recipe_and_for_whom_there_is_one(run):
    code, output, _ = run("show", "recipe", "image", "linear", "--preset", "own")
    recipe = preset("image", "linear", "own")
    assert code == 0
    assert json.loads(output) == {"id": recipe.id, **recipe.model_dump(mode="json")}
    _, output, _ = run("list", "presets", "--json")
    rows = [row for row in json.loads(output) if row["preset"] == "own"]
    listed = {(task, mixer) for row in rows for mixer in row["mixers"] for task in row["tasks"]}
    assert listed == {*KNOWN, ("image", "linear")}
    assert len(rows) == len({tuple(row["tasks"]) for row in rows})


def test_a_common_preset_is_listed_once_for_all_mixers(run):
    _, output, _ = run("list", "presets")
    [small] = [line for line in output.splitlines() if line.startswith("small ")]
    assert " all " in small


def test_one_refusal_is_printed_for_a_mechanism_without_a_recipe(run):
    code, _, errors = run("train", "image", "linformer", "--preset", "own")
    assert code == 2
    assert "no recipe for image with linformer" in errors


@pytest.mark.usefixtures("for_linear")
def test_the_mixers_of_a_preset_are_those_with_a_recipe():
    assert "linear" in mixers_of("own", "image")
    assert "transformer" not in mixers_of("own", "image")
    assert mixers_of("paper", "image") == list(CARDS)
    assert mixers_of("nobody's", "image") == []

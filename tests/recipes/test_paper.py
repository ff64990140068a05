"""The preset `paper` against the numbers of the official configuration files, written out here."""

import json
import math
import sys

import pytest

from longarena.attention import CARDS, MIXERS
from longarena.cli.main import main
from longarena.findings.suites import ARENA
from longarena.model.encoder import build_mixers
from longarena.recipes.presets import preset
from longarena.recipes.recipe import build_task
from longarena.recipes.schedule import rate

# batch, steps, rate, schedule, warm-up, decay, clip, evaluation every, positions, length
TASK_FACTS = """
listops         32    5000  0.05    rsqrt   1000  0.1  None    50  sinusoidal   1999
text            32   20000  0.05    rsqrt   8000  0.1  None   100  sinusoidal   4000
retrieval       32    5000  0.05    rsqrt   8000  0.1  None   100  sinusoidal   4000
image          256   35000  0.0005  cosine   175  0.0  None   175  learned      1024
pathfinder     512   62400  0.001   cosine   312  0.0  None   312  sinusoidal   1024
pathfinder-64  256  125000  0.001   cosine   625  0.0  None   625  learned      4096
path-x          64  500000  0.001   cosine  2500  0.0  1.0   2500  learned     16384
pathfinder-256  32  500000  0.001   cosine  5000  0.0  None  5000  learned     65536
"""

# layers, heads, emb / qkv / mlp, dropout
SIZE_FACTS = """
listops        transformer  4  8  512/512/1024  0.1
listops        performer    4  8  512/512/1024  0.1
text           transformer  4  4  256/256/1024  0.1
text           linformer    4  4  256/256/1024  0.1
retrieval      transformer  4  4  128/128/512   0.1
retrieval      bigbird      4  4  128/128/512   0.1
image          transformer  1  8  128/64/128    0.3
image          local        1  2  128/64/128    0.3
image          longformer   4  4  128/64/128    0.3
image          sparse       1  8  128/64/128    0.3
image          linformer    1  8  128/64/128    0.3
image          reformer     4  8  64/64/64      0.3
image          sinkhorn     1  1  32/32/64      0.1
image          synthesizer  1  8  128/64/128    0.3
image          bigbird      1  4  128/64/128    0.3
image          linear       1  8  128/64/128    0.3
image          performer    1  8  128/64/128    0.3
image          routing      1  8  128/64/128    0.3
pathfinder     transformer  4  4  32/16/32      0.2
pathfinder     local        2  4  64/32/64      0.1
pathfinder     longformer   2  2  32/16/32      0.1
pathfinder     sparse       1  8  32/16/32      0.2
pathfinder     linformer    1  2  32/16/32      0.2
pathfinder     reformer     2  8  64/64/64      0.2
pathfinder     sinkhorn     2  4  32/16/64      0.2
pathfinder     synthesizer  2  4  64/32/64      0.2
pathfinder     bigbird      4  2  64/32/64      0.2
pathfinder     linear       1  2  128/64/128    0.2
pathfinder     performer    1  8  128/64/128    0.2
pathfinder     compressive  4  4  32/16/32      0.2
pathfinder-64  transformer  2  4  32/32/32      0.1
pathfinder-64  performer    2  4  32/32/32      0.1
path-x         transformer  1  2  32/16/32      0.1
path-x         linear       1  2  32/16/32      0.1
pathfinder-256 transformer  2  4  32/32/32      0.1
"""

# the paper has no recorded digits
TASKS = [task for task in ARENA.tasks if task != "digits"]
PAIRS = [(task, mixer) for task in TASKS for mixer in MIXERS]


def rows(table):
    return [line.split() for line in table.strip().splitlines()]


@pytest.mark.parametrize("row", rows(TASK_FACTS), ids=lambda row: row[0])
def test_a_task_is_trained_as_its_file_says(row):
    recipe = preset(row[0], "transformer", "paper")
    optimiser, schedule = recipe.optimiser, recipe.schedule
    numbers = [recipe.batch_size, recipe.steps, optimiser.rate, schedule.kind]
    numbers += [schedule.warmup_steps, optimiser.weight_decay, optimiser.clip]
    numbers += [
        recipe.evaluate_every,
        recipe.model.positions,
        build_task(recipe).signature.max_length,
    ]
    assert [str(number) for number in numbers] == row[1:]


@pytest.mark.parametrize("row", rows(SIZE_FACTS), ids=lambda row: f"{row[0]}-{row[1]}")
def test_a_model_has_the_size_of_its_file(row):
    model = preset(row[0], row[1], "paper").model
    widths = f"{model.width}/{model.qkv_width}/{model.mlp_width}"
    assert [str(model.depth), str(model.num_heads), widths, str(model.dropout)] == row[2:]


def test_every_official_task_is_listed_above():
    assert {row[0] for row in rows(TASK_FACTS)} == set(TASKS)
    assert {row[0] for row in rows(SIZE_FACTS)} == set(TASKS)


@pytest.mark.slow
@pytest.mark.parametrize("mixer", MIXERS)
def test_every_pair_is_a_model_that_can_be_built(mixer):
    for task in TASKS:
        check_pair(task, mixer)


def check_pair(task, mixer):
    recipe = preset(task, mixer, "paper", seed=1)
    assert (recipe.preset, recipe.seed, recipe.model.pooling) == ("paper", 1, "mean")
    optimiser = recipe.optimiser
    assert (optimiser.beta_1, optimiser.beta_2, optimiser.epsilon) == (0.9, 0.98, 1e-9)
    mixers = build_mixers(recipe.model, max_length=64, seed=1)
    sizes = {(mixer.place.width, mixer.place.head_size) for mixer in mixers}
    model = recipe.model
    assert (model.qkv_width is not None) == CARDS[mixer].has_qkv
    assert sizes == {(model.width, (model.qkv_width or model.width) // model.num_heads)}


def test_every_pair_has_an_id_of_its_own():
    assert len({preset(task, mixer, "paper").id for task, mixer in PAIRS}) == len(PAIRS)


def test_only_the_sinkhorn_of_images_decays_otherwise():
    decays = {(t, m): preset(t, m, "paper").optimiser.weight_decay for t, m in PAIRS}
    own = {pair for pair, decay in decays.items() if decay != decays[pair[0], "transformer"]}
    assert own == {("image", "sinkhorn")}
    assert decays["image", "sinkhorn"] == 0.7


@pytest.mark.parametrize(
    ("task", "step", "expected"),
    [
        ("listops", 1, 0.05 / 1000 / math.sqrt(1000)),
        ("listops", 1000, 1.58e-3),
        ("listops", 5000, 0.05 / math.sqrt(5000)),
        ("text", 8000, 5.59e-4),
        ("retrieval", 5000, 3.49e-4),  # the end, and still rising
        ("image", 175, 5e-4),
        ("path-x", 2500, 1e-3),
    ],
)
def test_the_learning_rate_of_a_step_is_the_official_one(task, step, expected):
    recipe = preset(task, "transformer", "paper")
    value = rate(recipe.schedule, recipe.optimiser.rate, step - 1, recipe.steps)
    assert value == pytest.approx(expected, rel=2e-3)


@pytest.mark.parametrize("task", [row[0] for row in rows(TASK_FACTS) if row[4] == "cosine"])
def test_the_cosine_stays_within_a_hundredth_of_the_official_one(task):
    recipe = preset(task, "transformer", "paper")
    steps, warmup = recipe.steps, recipe.schedule.warmup_steps
    for step in range(1, steps + 1, 97):
        turned = math.pi * max(0, step - warmup) / steps
        official = min(1, step / warmup) * (1 + math.cos(turned)) / 2
        assert abs(rate(recipe.schedule, 1.0, step - 1, steps) - official) < 0.01


def test_the_command_line_shows_the_whole_recipe(monkeypatch, capsys):
    words = "longarena show recipe listops performer --preset paper"
    monkeypatch.setattr(sys, "argv", words.split())
    with pytest.raises(SystemExit, match="0"):
        main()
    shown = json.loads(capsys.readouterr().out)
    recipe = preset("listops", "performer", "paper")
    assert shown == {"id": recipe.id, **recipe.model_dump(mode="json")}

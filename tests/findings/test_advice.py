"""What is advised after a run, and that all of it can be typed."""

import shlex

import pytest
from report.examples import run_record, split_score

from longarena.findings.advice import advise
from longarena.recipes.presets import preset
from longarena.recipes.recipe import override
from longarena.records.record import Curve, LateTraining
from longarena.tracks.metric import Metric

BITS = Metric(name="bits", title="Bits per byte", unit="", better="less", decimals=3)
FLAT = Curve(steps=[500, 1000], seconds=[10.0, 20.0], values=[0.18, 0.17])


def run(accuracy=0.17, curve=FLAT, late=None, **fields):
    """A run at chance, unless told otherwise; `late` is score, loss, first loss, constant's."""
    record = run_record(accuracy=accuracy, curve=curve, **fields)
    names = ("value", "loss", "first_loss", "level_loss")
    found = LateTraining(**dict(zip(names, late, strict=True))) if late else None
    return record.model_copy(update={"metrics": record.metrics.model_copy(update={"late": found})})


def words(record):
    return [each.words for each in advise(record)]


def test_a_good_run_gets_no_advice():
    curve = Curve(steps=[500, 1000], seconds=[1.0, 2.0], values=[0.6, 0.6])
    assert advise(run(0.6, curve, late=(0.61, 1.0, 2.4, 2.2))) == []


def test_after_divergence_everything_is_tamer():
    assert words(run(None)) == [
        "--set optimiser.rate=0.0033",
        "--set optimiser.clip=1",
        "--set schedule.warmup_steps=200",
    ]


def test_gradients_that_are_clipped_are_not_clipped_again():
    assert "--set optimiser.clip=1" not in words(run(None, sets=["optimiser.clip=0.5"]))


@pytest.mark.parametrize(
    ("loss", "first", "rate"),
    [
        (2.2, 3.0, 0.03),  # at that of a constant answer
        (3.0, 3.0, 0.03),  # where it began
        (3.5, 3.0, 0.0033),  # above both
        (2.6, 2.0, 0.0033),
        (2.6, 3.0, None),  # on its way
        (0.3, 3.0, None),  # it learnt, though nothing that lasts
    ],
)
def test_the_loss_tells_in_which_direction_the_rate_is_wrong(loss, first, rate):
    found = [
        each for each in words(run(late=(0.17, loss, first, 2.2))) if each.startswith("--set opt")
    ]
    assert found == ([f"--set optimiser.rate={rate}"] if rate else [])


def test_without_losses_the_rates_are_searched_in_both_directions():
    found = words(run())
    assert not [each for each in found if each.startswith("--set optimiser.rate")]
    assert found[-1].endswith("--tune optimiser.rate=0.001,0.0033,0.01,0.03,0.1")


def test_a_run_at_chance_is_to_be_tried_under_other_seeds():
    assert "longarena sweep --tasks listops --mixers transformer --preset quick --seeds 3" in words(
        run()
    )


@pytest.mark.parametrize(
    ("mixer", "positions", "is_first", "is_there"),
    [
        ("transformer", "none", True, True),
        ("transformer", "sinusoidal", False, True),
        ("transformer", "learned", False, False),
        ("transformer-xl", "none", False, False),
    ],
)
def test_positions_are_advised_where_they_are_missing(mixer, positions, is_first, is_there):
    found = words(run(mixer=mixer, sets=[f"model.positions={positions}"]))
    advice = "--set model.positions=learned"
    assert (found[0] == advice, advice in found) == (is_first, is_there)


def test_a_warm_up_that_took_most_of_the_steps_is_to_be_shorter():
    found = words(run(sets=["steps=120"]))
    assert [each for each in found if "warmup" in each] == ["--set schedule.warmup_steps=12"]
    assert found[0] == "--set schedule.warmup_steps=12"


RISING = Curve(steps=[250, 500, 750, 1000], seconds=[1, 2, 3, 4], values=[0.2, 0.3, 0.5, 0.6])


def test_a_score_that_still_rises_asks_for_more_steps():
    assert words(run(0.6, RISING)) == ["--set steps=2000"]


@pytest.mark.parametrize("last", [0.3, 0.305, 0.45])
def test_noise_and_a_fall_at_the_end_are_no_rise(last):
    curve = RISING.model_copy(update={"values": [0.2, 0.3, 0.5 if last > 0.4 else 0.2, last]})
    assert advise(run(0.6, curve)) == []


def test_a_score_that_still_falls_rises_where_less_is_better():
    falling = RISING.model_copy(update={"values": [2.0, 1.8, 1.5, 1.2]})
    record = run(0.5, falling, metric=BITS)
    assert "--set steps=2000" in words(record)


def test_a_run_that_memorised_asks_for_dropout_decay_and_data():
    record = run(0.5, RISING.model_copy(update={"values": [0.5] * 4}), late=(0.9, 0.3, 2.4, 2.2))
    assert words(record) == ["--set model.dropout=0.1", "--set optimiser.weight_decay=0.01"]
    less = run(0.5, record.curve, late=(0.9, 0.3, 2.4, 2.2), sets=["task.size=0.1"])
    assert words(less)[-1] == "--set task.size=0.4"


def test_a_little_better_in_training_is_no_memorising():
    flat = RISING.model_copy(update={"values": [0.5] * 4})
    assert advise(run(0.5, flat, late=(0.6, 1.0, 2.4, 2.2))) == []


CHANCES = [
    ("listops", "linear", ()),
    ("pathfinder", "local", ("model.positions=none", "model.block=32")),
    ("text", "transformer", ("model.positions=sinusoidal", "optimiser.rate=1e-5", "seed=3")),
    ("image", "performer", ("steps=10", "model.dropout=0.4", "precision=bf16-mixed")),
]


@pytest.mark.parametrize("late", [None, (0.9, 3.0, 2.4, 2.2), (0.17, 2.2, 2.4, 2.2)])
@pytest.mark.parametrize("accuracy", [0.17, None])
@pytest.mark.parametrize(("task", "mixer", "sets"), CHANCES)
def test_every_assignment_is_one_that_the_recipe_takes(task, mixer, sets, accuracy, late):
    recipe = override(preset(task, mixer, "quick"), sets)
    record = run(accuracy, late=late).model_copy(update={"recipe": recipe})
    found = advise(record)
    assert len(found) >= 2
    for each in found:
        assert override(recipe, each.sets).id != recipe.id or not each.sets
        typed = shlex.split(each.words)
        given = [typed[at + 1] for at, word in enumerate(typed) if word == "--set"]
        assert override(recipe, given)
        assert each.sets == tuple(given) or typed[:2] == ["longarena", "sweep"]


def test_a_recipe_that_no_command_says_is_advised_without_commands():
    found = words(run(preset="of the future", late=(0.17, 2.2, 2.4, 2.2)))
    assert found
    assert all(each.startswith("--set ") for each in found)


def test_chance_is_a_matter_of_standard_errors():
    few = split_score(0.3, examples=20)
    record = run(0.3, late=(0.17, 2.2, 2.4, 2.2))
    assert not record.is_at_chance
    metrics = record.metrics.model_copy(update={"test": few})
    assert record.model_copy(update={"metrics": metrics}).is_at_chance

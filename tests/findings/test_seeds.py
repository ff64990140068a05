"""How many seeds learn, from curves written by hand."""

import pytest
from report.examples import run_record

from longarena.findings.boards import boards
from longarena.findings.scores import score_table
from longarena.findings.seeds import Fate, from_then_on, lotteries
from longarena.records.record import Curve
from longarena.tracks.metric import Metric

BITS = Metric(name="bits", title="Bits per byte", unit="", better="less", decimals=3)
LEVEL = run_record().metrics.level


def drawn(values, seed=0, mixer="transformer", level=LEVEL, **fields):
    """A run with these validation scores, after 10, 20, ... steps; it ends with the last."""
    record = run_record(mixer, seed=seed, **fields)
    last = record.metrics.valid.model_copy(update={"value": values[-1], "error": 0.01})
    metrics = record.metrics.model_copy(update={"valid": last, "test": last, "level": level})
    curve = Curve(steps=range(10, 10 + 10 * len(values), 10), seconds=[], values=values)
    return record.model_copy(update={"curve": curve, "metrics": metrics})


def lottery_of(*runs):
    (lottery,) = lotteries(boards(score_table(runs)))
    return lottery


def fates_of(*runs):
    ((_, fates),) = lottery_of(*runs).fates
    return fates


LEARNS = [LEVEL, 0.5, 0.8]
STAYS = [LEVEL, LEVEL, LEVEL]
FALLS_BACK = [0.8, LEVEL, 0.4]


def test_every_seed_has_the_step_from_which_on_it_did_not_fall_back():
    # two thirds of the way from 0.17 to the mean of the three is 0.36
    fates = fates_of(drawn(LEARNS), drawn(STAYS, seed=1), drawn(FALLS_BACK, seed=2))
    assert fates == (Fate(20, 20), Fate(None, None), Fate(30, 30))


def test_the_goal_is_two_thirds_of_the_way_to_the_best_mechanism():
    others = [drawn([0.1, 0.9], seed, "linear") for seed in range(3)]
    lottery = lottery_of(*(drawn(LEARNS, seed) for seed in range(3)), *others)
    assert lottery.goal == pytest.approx(LEVEL + 2 / 3 * (0.9 - LEVEL))
    assert {line.row.mixer: fates[0] for line, fates in lottery.fates} == {
        "transformer": Fate(20, 30),
        "linear": Fate(20, 20),
    }


def test_better_may_be_less():
    runs = [drawn([3.0, 2.0, 1.0], seed, level=3.0, metric=BITS) for seed in range(3)]
    lottery = lottery_of(*runs)
    assert lottery.goal == pytest.approx(3.0 - 2 / 3 * 2.0)
    assert lottery.fates[0][1] == (Fate(20, 30),) * 3


def test_two_seeds_are_too_few_to_count():
    assert lotteries(boards(score_table([drawn(LEARNS), drawn(STAYS, seed=1)]))) == []


def test_a_seed_that_diverged_has_learnt_nothing():
    whole = drawn(LEARNS)
    gone = whole.metrics.model_copy(update={"valid": None, "test": None})
    diverged = whole.model_copy(update={"metrics": gone, "status": "diverged"})
    runs = [diverged, drawn(LEARNS, seed=1), drawn(LEARNS, seed=2)]
    assert sorted(fates_of(*runs), key=str) == [Fate(20, 30), Fate(20, 30), Fate(None, None)]


def test_a_step_without_a_score_is_passed_over():
    curve = Curve(steps=[1, 2, 3], seconds=[], values=[0.1, 0.9])
    assert from_then_on(curve, lambda value: value > 0.5) == 2

"""Scores after minutes of training, from curves written by hand."""

import pytest
from report.examples import MACHINE, START, run_record, split_score

from longarena.findings.boards import boards
from longarena.findings.minutes import after, best_after, clock_name, ended_at, races
from longarena.findings.scores import score_table
from longarena.records.record import Curve
from longarena.tracks.metric import Metric

BITS = Metric(name="bits", title="Bits per byte", unit="", better="less", decimals=3)


def timed(mixer="transformer", points=(), seed=0, **fields):
    """A run that was validated after some seconds: (seconds, score)."""
    record = run_record(mixer, seed=seed, **fields)
    seconds, values = zip(*points, strict=True) if points else ((), ())
    curve = Curve(steps=range(1, 1 + len(points)), seconds=seconds, values=values)
    metrics = record.metrics.model_copy(update={"train_seconds": max(seconds, default=0.0)})
    return record.model_copy(update={"curve": curve, "metrics": metrics})


RISE_AND_FALL = [(30.0, 0.2), (70.0, 0.4), (200.0, 0.3)]


def score_of(*runs):
    (score,) = score_table(runs).scores.values()
    return score


@pytest.mark.parametrize(("seconds", "best"), [(29, None), (30, 0.2), (69, 0.2), (999, 0.4)])
def test_the_best_so_far_counts(seconds, best):
    assert best_after(timed(points=RISE_AND_FALL), seconds) == best


def test_the_best_is_the_least_where_less_is_better():
    run = timed(points=RISE_AND_FALL, metric=BITS)
    assert [best_after(run, seconds) for seconds in (60, 300)] == [0.2, 0.2]
    assert best_after(timed(points=[(1.0, 3.0), (2.0, 1.0)], metric=BITS), 60) == 1.0


def test_a_seed_that_was_not_validated_yet_is_not_in_the_mean():
    slow = timed(points=[(90.0, 0.5), (400.0, 0.7)], seed=1)
    score = score_of(timed(points=RISE_AND_FALL), slow)
    early, late = after(score, 60), after(score, 300)
    assert (early.score.values, early.score.num_without, early.num_ended) == ((0.2,), 1, 0)
    assert late.score.mean == pytest.approx(0.45)
    assert (late.score.num_without, late.num_ended) == (0, 1)


def test_the_error_is_that_of_the_validation_split():
    run = timed(points=RISE_AND_FALL, accuracy=0.5)
    valid = split_score(0.5, examples=100)
    run = run.model_copy(update={"metrics": run.metrics.model_copy(update={"valid": valid})})
    assert after(score_of(run), 300).score.error == pytest.approx(0.05)


def test_a_race_holds_runs_of_one_clock():
    one = MACHINE.model_copy(update={"threads": 1})
    runs = [timed(points=RISE_AND_FALL), timed("linear", RISE_AND_FALL, machine=one)]
    found = races(boards(score_table(runs)))
    assert [[racer.line.row.mixer for racer in race.racers] for race in found] == [
        ["linear"],
        ["transformer"],
    ]
    assert [race.clock.rpartition(", ")[2] for race in found] == ["1 thread", "2 threads"]


def test_threads_of_the_processor_do_not_time_an_accelerator():
    gpu = MACHINE.model_copy(update={"accelerator": "Example GPU"})
    assert clock_name(gpu) == clock_name(gpu.model_copy(update={"threads": 1}))


def test_the_seconds_of_a_pretraining_count():
    run = timed(points=RISE_AND_FALL, start=START)
    assert [best_after(run, seconds) for seconds in (129, 130, 170)] == [None, 0.2, 0.4]
    assert ended_at(run) == 300

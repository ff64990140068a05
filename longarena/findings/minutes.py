"""Scores after minutes of training: what a mechanism has reached while another is still on its way.

    races(boards)              the mechanisms of one column whose times can be compared
    after(score, seconds=300)  the best validation scores of its seeds in the first 300 seconds

Seconds are those of the training steps, without evaluation, on the machine of the record; those of
a pretraining come first.

Choice: the best score so far, because the best parameters on validation are the ones that count.
Choice: on a CPU the number of threads changes times, though not scores; only runs of one machine
        and one number of threads are compared.
Choice: a seed that has not been validated by then has no score yet and is not in the mean; one
        that had ended keeps the best score that it had.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean

from longarena.findings.boards import Board, Line
from longarena.findings.scores import Column, Score, group
from longarena.records.summary import Run
from longarena.runtime import Machine

MINUTES = (1, 5, 20)


@dataclass(frozen=True)
class Racer:
    """A line of a board, with those of its runs that the clock of the race has timed."""

    line: Line
    score: Score
    is_comparable: bool


@dataclass(frozen=True)
class Race:
    """The results of one column of a board whose times can be compared."""

    board: Board
    column: Column
    clock: str
    racers: tuple[Racer, ...]

    def best(self, seconds: float) -> float | None:
        """Return the best comparable mean after some seconds of training."""
        if seconds not in self._best:
            racers = [racer for racer in self.racers if racer.is_comparable]
            found = [after(racer.score, seconds).score.mean for racer in racers]
            means = [mean for mean in found if mean is not None]
            self._best[seconds] = self.column.metric.best(means) if means else None
        return self._best[seconds]

    @cached_property
    def _best(self) -> dict[float, float | None]:
        return {}


@dataclass(frozen=True)
class Reached:
    """The validation scores of a mechanism's seeds at some time; `num_ended` had ended by then."""

    score: Score
    num_ended: int


def clock_name(machine: Machine) -> str:
    """Name what a time depends on beside the mechanism: the machine, and on a CPU its threads."""
    name = f"{machine.accelerator or machine.processor}, {machine.cores} cores"
    count = machine.threads
    return name if machine.accelerator else f"{name}, {count} thread{'s' * (count != 1)}"


def races(boards: Iterable[Board]) -> list[Race]:
    """List the races of every board, column by column."""
    return [race for board in boards for column in board.columns for race in _races(board, column)]


def after(score: Score, seconds: float) -> Reached:
    """Say what the seeds of a score had reached on the validation split after some seconds."""
    found = [(run, best_after(run, seconds)) for run in score.runs]
    values = [(run, best) for run, best in found if best is not None]
    errors = [run.metrics.valid.error for run, _ in values if run.metrics.valid]
    reached = replace(
        score,
        values=tuple(best for _, best in values),
        num_without=len(found) - len(values),
        sampling_error=math.sqrt(fmean(error**2 for error in errors)) if errors else 0.0,
    )
    return Reached(reached, sum(ended_at(run) <= seconds for run, _ in values))


def best_after(run: Run, seconds: float) -> float | None:
    """Return the best validation score of a run in its first seconds; None before there is one."""
    # a record says what it likes, so the lists may differ in length
    points = zip(run.curve_seconds, run.curve.values, strict=False)
    values = [value for at, value in points if at <= seconds and math.isfinite(value)]
    return run.metric.best(values) if values else None


def ended_at(run: Run) -> float:
    """Return the seconds of training after which a run had ended."""
    return max([run.total_seconds, *run.curve_seconds])


def _races(board: Board, column: Column) -> list[Race]:
    lines = [*((line, True) for line in board.comparable), *((line, False) for line in board.free)]
    racers = [
        (clock, Racer(line, replace(line.scores[column], runs=tuple(runs)), is_comparable))
        for line, is_comparable in lines
        if column in line.scores
        for clock, runs in by_clock(line.scores[column].runs).items()
    ]
    found = group(racers, lambda pair: pair[0])
    return [
        Race(board, column, clock, tuple(racer for _, racer in pairs))
        for clock, pairs in sorted(found.items())
    ]


def by_clock(runs: Sequence[Run]) -> dict[str, list[Run]]:
    """Put runs together whose times can be compared."""
    return group(runs, lambda run: clock_name(run.machine))

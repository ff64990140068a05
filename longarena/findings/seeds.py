"""The luck in training: how many seeds of a mechanism learn a task, and when.

    lotteries(boards)                 the mechanisms of every column that have several seeds
    from_then_on(curve, is_reached)   the first step after which no score falls back

A seed has left the level when its validation scores are better than an answer without a model by
three standard errors. It has learnt when they have come two thirds of the way from there to the
best score of the column.

Choice: for good: a score that falls back later was luck. A seed that diverged has done neither.
Choice: two thirds, because half of the way is what one token tells of a list of ListOps, its first.
Choice: three seeds at least; of fewer there is little to count.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from longarena.findings.boards import Board, Line
from longarena.findings.scores import Column, Score
from longarena.records.record import Curve, is_significant
from longarena.records.summary import Run

NUM_SEEDS = 3
SHARE = 2 / 3


@dataclass(frozen=True)
class Fate:
    """At which steps a seed left the level and had learnt; None for never."""

    left_at: int | None
    learnt_at: int | None


@dataclass(frozen=True)
class Lottery:
    """The seeds of the mechanisms in one column of a board; who reaches `goal` has learnt."""

    board: Board
    column: Column
    goal: float
    fates: tuple[tuple[Line, tuple[Fate, ...]], ...]


def lotteries(boards: Iterable[Board]) -> list[Lottery]:
    """Say what became of the seeds, column by column, where a mechanism has several."""
    found = [_lottery(board, column) for board in boards for column in board.columns]
    return [lottery for lottery in found if lottery.fates]


def has_seeds(score: Score) -> bool:
    """Tell whether there are enough seeds to count them."""
    return len(score.runs) >= NUM_SEEDS


def from_then_on(curve: Curve, is_reached: Callable[[float], bool]) -> int | None:
    """Return the first step from which on all scores are good enough; None if the last is not.

    >>> curve = Curve(steps=[5, 10, 15, 20], seconds=[], values=[0.6, 0.1, 0.7, 0.8])
    >>> from_then_on(curve, lambda value: value > 0.5), from_then_on(curve, lambda value: value > 1)
    (15, None)
    """
    found = None
    # a record says what it likes, so the lists may differ in length
    for step, value in reversed(list(zip(curve.steps, curve.values, strict=False))):
        if not is_reached(value):
            break
        found = step
    return found


def _lottery(board: Board, column: Column) -> Lottery:
    lines = [line for line in (*board.comparable, *board.free) if column in line.scores]
    level, best = board.level(column), _best_mean(lines, column)
    goal = level + SHARE * (best - level)
    several = [line for line in lines if has_seeds(line.scores[column])]
    fates = [
        (line, tuple(_fate(run, goal) for run in line.scores[column].runs)) for line in several
    ]
    return Lottery(board, column, goal, tuple(fates))


def _best_mean(lines: list[Line], column: Column) -> float:
    """Return the best test score of a column; without any, the level."""
    means = [mean for line in lines if (mean := line.scores[column].mean) is not None]
    return column.metric.best(means) if means else lines[0].scores[column].level


def _fate(run: Run, goal: float) -> Fate:
    metric, level, valid = run.metric, run.metrics.level, run.metrics.valid
    if valid is None:
        return Fate(None, None)
    return Fate(
        from_then_on(run.curve, lambda value: is_significant(metric, value, level, valid.error)),
        from_then_on(run.curve, lambda value: value == goal or metric.is_better(value, goal)),
    )

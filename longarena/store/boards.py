"""The leaderboard: one board per preset and machine, comparable results apart from free ones.

    a line = a mechanism under one set of changes to the preset        a column = a task, its data

A result is comparable when its recipe is the preset's and its model has at most 10 % more
parameters than the Transformer of the same column; every other is free.

Choice: options of the mechanism itself leave it comparable, as the arena's own rules do.
Choice: where no Transformer was run in a column, nobody knows the ratio, and the result is free.
Choice: an average takes the data that the preset itself asks for, never a variant of it. It is
        partial where a task is missing. A free line averages its comparable results with it.
Choice: the spread over mechanisms is the standard deviation (n - 1), as in the paper's last row.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from statistics import fmean, stdev

from longarena import tasks
from longarena.recipes.presets import PRESETS
from longarena.recipes.recipe import build_task
from longarena.store.tables import BASELINE, AccuracyTable, Column, Row, Score, group, row_order

FIVE = ("listops", "text", "retrieval", "image", "pathfinder")
SIX = (*FIVE, "path-x")


@dataclass(frozen=True)
class Average:
    """The mean over some of the tasks that were wanted."""

    mean: float
    num_tasks: int
    num_wanted: int

    @property
    def is_partial(self) -> bool:
        """Whether a task is missing."""
        return self.num_tasks < self.num_wanted


@dataclass(frozen=True)
class Spread:
    """The mean and the standard deviation over mechanisms."""

    mean: float
    deviation: float | None


@dataclass(frozen=True)
class Line:
    """One mechanism under one set of changes to the preset, and what it scored."""

    row: Row
    changes: str
    scores: Mapping[Column, Score]
    five: Average | None
    six: Average | None


@dataclass(frozen=True)
class Board:
    """All results of one preset on one machine; the preset's own data stands in front."""

    preset: str
    machine: str
    columns: tuple[Column, ...]
    comparable: tuple[Line, ...]
    free: tuple[Line, ...]

    def best(self, column: Column) -> float | None:
        """Return the highest comparable mean of a column."""
        return max(self._means(column), default=None)

    def spread(self, column: Column) -> Spread | None:
        """Return the paper's last row: mean and deviation of the comparable means of a column."""
        return _spread(self._means(column))

    def columns_of(self, lines: Sequence[Line]) -> list[Column]:
        """Return the columns in which any of some lines has a score."""
        return [column for column in self.columns if any(column in line.scores for line in lines)]

    def majority(self, column: Column) -> float:
        """Return the score of always naming the commonest class."""
        lines = (*self.comparable, *self.free)
        return next(line.scores[column].majority for line in lines if column in line.scores)

    def _means(self, column: Column) -> list[float]:
        scores = [line.scores[column] for line in self.comparable if column in line.scores]
        return [score.mean for score in scores if score.mean is not None]


def spread_of_averages(averages: Iterable[Average | None]) -> Spread | None:
    """Return mean and deviation of the averages that miss nothing."""
    return _spread([each.mean for each in averages if each and not each.is_partial])


def best_average(averages: Iterable[Average | None]) -> Average | None:
    """Return the highest of the averages that have the most tasks."""
    found = [average for average in averages if average]
    return max(found, key=lambda average: (average.num_tasks, average.mean), default=None)


def boards(table: AccuracyTable) -> list[Board]:
    """Arrange scores into boards, the preset with the most training first."""
    groups = group(table.columns, lambda column: (column.preset, column.machine))
    found = [_board(table, columns) for columns in groups.values()]
    order = [*reversed(PRESETS)]
    return sorted(
        found,
        key=lambda board: order.index(board.preset) if board.preset in order else len(order),
    )


@cache
def own_variant(preset: str, task: str) -> str | None:
    """Return the variant of the data that a preset asks for; None if it has no such task."""
    make = PRESETS.get(preset)
    recipe = make(task, BASELINE, 0) if make and task in tasks.TASKS else None
    return build_task(recipe).variant if recipe else None


def has_own_data(column: Column) -> bool:
    """Tell whether a column has the data that its preset asks for, and no variant of it."""
    return column.variant == own_variant(column.preset, column.task)


def is_comparable(column: Column, score: Score) -> bool:
    """Tell whether a score was made under the preset's recipe and within the parameter budget."""
    return not column.changes and score.parameter_ratio is not None and not score.is_over_budget


def _board(table: AccuracyTable, columns: Sequence[Column]) -> Board:
    cells = {at: score for at, score in table.scores.items() if at[1] in columns}
    lines = group(cells, lambda at: (at[0], at[1].changes))
    keys = sorted(lines, key=lambda key: (row_order(key[0]), key[1]))
    comparable, free = [], []
    for row, changes in keys:
        own = {at[1]: cells[at] for at in lines[row, changes]}
        level = {column: score for column, score in own.items() if is_comparable(column, score)}
        rest = {column: score for column, score in own.items() if column not in level}
        if level:
            comparable.append(_line(row, changes, level, level))
        if rest:
            free.append(_line(row, changes, rest, own))
    plain = dict.fromkeys(replace(column, changes="") for column in columns)
    order = sorted(plain, key=lambda column: not has_own_data(column))
    first = columns[0]
    return Board(first.preset, first.machine, tuple(order), tuple(comparable), tuple(free))


def _line(
    row: Row, changes: str, scores: Mapping[Column, Score], averaged: Mapping[Column, Score]
) -> Line:
    plain = {replace(column, changes=""): score for column, score in scores.items()}
    return Line(row, changes, plain, _average(averaged, FIVE), _average(averaged, SIX))


def _average(scores: Mapping[Column, Score], wanted: Sequence[str]) -> Average | None:
    """Average one score per wanted task: the latest version, on the preset's own data."""
    means: dict[str, float] = {}
    for column in sorted(scores, key=lambda column: column.version):
        mean = scores[column].mean
        if mean is not None and has_own_data(column):
            means[column.task] = mean
    found = [means[task] for task in wanted if task in means]
    return Average(fmean(found), len(found), len(wanted)) if found else None


def _spread(means: Sequence[float]) -> Spread | None:
    if not means:
        return None
    return Spread(fmean(means), stdev(means) if len(means) > 1 else None)

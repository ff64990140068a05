"""The leaderboard: a board per suite, preset, changes to it and tuning; free ones apart.

    line = a mechanism under one set of changes to the preset        column = a task and its data

A result is comparable when its recipe is the preset's, the preset is meant for all mechanisms
(`own` is not), and its model is within the suite's budget of parameters (in the arena 10 % more
than the Transformer has in the same column). Every other result is free.

Choice: where the baseline and others were given the same changes to the preset (`--set steps=8`),
        these are compared on a board of their own, behind that of the preset.
Choice: a result stays comparable whatever the options of its mechanism, as in the arena's rules.
Choice: what was tuned alike is compared on a board of its own, behind that of the preset: its
        values may differ from the preset's, and all had the same choice of them.
Choice: where the suite's baseline was not run in a column, the ratio is unknown and the result is
        free.
Choice: an average is over the data that the preset itself asks for, never a variant of it; where a
        board has none of a task, over the same amount of it from another source (`aan-mini`). It
        is partial where a task is missing. That of a free line includes its comparable results.
Choice: the spread over mechanisms is the standard deviation (n - 1), as in the paper's last row.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from statistics import fmean, stdev
from typing import Literal

from longarena import tasks
from longarena.findings.details import conditions, other_levels
from longarena.findings.scores import Column, Row, Score, ScoreTable, group, row_order
from longarena.findings.suites import SUITES, Suite, suite_of
from longarena.findings.tuning import UNTUNED, Procedure
from longarena.recipes.presets import INDIVIDUAL, PRESETS, mixers_of
from longarena.recipes.recipe import build_task
from longarena.tracks.metric import Metric


@dataclass(frozen=True)
class Average:
    """The mean over those of the wanted tasks that have a score."""

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
    """One mechanism under one set of changes to the preset, and what it scored.

    The averages are those of the suite, in its order.
    """

    row: Row
    changes: str
    scores: Mapping[Column, Score]
    averages: tuple[Average | None, ...]


@dataclass(frozen=True)
class Board:
    """All results of one suite under one preset, untuned or tuned alike.

    Columns of the preset's own data come first. `changes` are what all recipes of the board change
    in the preset.
    """

    suite: Suite
    preset: str
    columns: tuple[Column, ...]
    comparable: tuple[Line, ...]
    free: tuple[Line, ...]
    tuning: Procedure = UNTUNED
    changes: str = ""

    @property
    def has_common_recipe(self) -> bool:
        """Whether the preset is meant for all mechanisms, so that results can be compared."""
        return self.preset not in INDIVIDUAL

    def scores(self, column: Column) -> dict[Row, Score]:
        """Return the comparable scores of a column."""
        return {line.row: line.scores[column] for line in self.comparable if column in line.scores}

    def alike(self, column: Column) -> dict[Row, Score]:
        """Return the scores of a column under its recipe, whatever the number of parameters."""
        return self._alike.get(column, {})

    @cached_property
    def _alike(self) -> Mapping[Column, dict[Row, Score]]:
        found = defaultdict[Column, dict[Row, Score]](dict)
        for line in (*self.comparable, *self.free):
            for column, score in line.scores.items():
                if not line.changes and score.parameter_ratio is not None:
                    found[column][line.row] = score
        return found

    def best(self, column: Column) -> float | None:
        """Return the best comparable mean of a column."""
        means = self._means(column)
        return column.metric.best(means) if means else None

    def spread(self, column: Column) -> Spread | None:
        """Return the paper's last row: mean and deviation of the comparable means of a column."""
        return _spread(self._means(column))

    def columns_of(self, lines: Sequence[Line]) -> list[Column]:
        """Return the columns in which at least one of the lines has a score."""
        return [column for column in self.columns if any(column in line.scores for line in lines)]

    def level(self, column: Column) -> float:
        """Return what an answer without a model scores."""
        return self._any_score(column).level

    def other_levels(self, column: Column) -> dict[str, float]:
        """Return what else than a model was scored, by its name."""
        runs = self._any_score(column).runs
        return other_levels(runs[-1]) if runs else {}

    def conditions(self, column: Column) -> list[str]:
        """Say under which conditions the scores of a column were obtained."""
        runs = self._any_score(column).runs
        return conditions(runs[-1]) if runs else []

    def _any_score(self, column: Column) -> Score:
        lines = (*self.comparable, *self.free)
        return next(line.scores[column] for line in lines if column in line.scores)

    def averages(self, which: int) -> list[Average | None]:
        """Return one of the suite's averages of every comparable line."""
        return [line.averages[which] for line in self.comparable]

    def average_metric(self, which: int) -> Metric | None:
        """Return the metric of one of the suite's averages; None if its tasks have several."""
        metrics = {column.metric for column in self.averaged(which)}
        return metrics.pop() if len(metrics) == 1 else None

    def averaged(self, which: int) -> list[Column]:
        """Return the columns that one of the suite's averages is over, one for each task."""
        return _averaged(self.suite, self.columns, which)

    def _means(self, column: Column) -> list[float]:
        scores = self.scores(column).values()
        return [score.mean for score in scores if score.mean is not None]


def spread_of_averages(averages: Iterable[Average | None]) -> Spread | None:
    """Return mean and deviation of the averages that are complete."""
    return _spread([each.mean for each in averages if each and not each.is_partial])


def best_average(
    averages: Iterable[Average | None], better: Literal["more", "less"] = "more"
) -> Average | None:
    """Return the best of the averages that have the most tasks."""
    found = [average for average in averages if average]
    sign = 1 if better == "more" else -1
    return max(found, key=lambda average: (average.num_tasks, sign * average.mean), default=None)


def boards(table: ScoreTable) -> list[Board]:
    """Arrange scores into boards, suite by suite, the preset with the most training first.

    Boards on which nothing can be compared come last in their suite.
    """
    shared = _shared_changes(table)
    groups = group(table.columns, lambda at: (_setting(at), at.changes if at in shared else ""))
    found = [_board(table, columns, changes) for (_, changes), columns in groups.items()]
    suites, presets = list(SUITES), [*reversed(PRESETS)]

    def place(board: Board) -> tuple[int, bool, bool, int, str, str]:
        is_known = board.preset in presets
        preset = presets.index(board.preset) if is_known else len(presets)
        suite = suites.index(board.suite.name)
        last = not board.has_common_recipe, not board.comparable
        return suite, *last, preset, board.changes, board.tuning.words

    return sorted(found, key=place)


def _setting(column: Column) -> tuple[str, str, Procedure]:
    """Return what all results of a board have in common, whatever they change in the preset."""
    return suite_of(column.task).name, column.preset, column.tuning


def _shared_changes(table: ScoreTable) -> set[Column]:
    """Return the columns whose changes to the preset others share with the baseline somewhere."""
    rows = group(table.scores, lambda at: at[1])
    compared = {
        (_setting(column), column.changes)
        for column, found in rows.items()
        if column.changes and column.preset not in INDIVIDUAL
        if Row(suite_of(column.task).baseline) in {row for row, _ in found}
        if len({row.mixer for row, _ in found}) > 1
    }
    return {column for column in table.columns if (_setting(column), column.changes) in compared}


@cache
def own_variant(preset: str, task: str) -> str | None:
    """Return the variant of the data that a preset asks for; None if it has no such task.

    A preset asks for the same data whatever the mechanism, if it has a recipe for it at all.
    """
    mixers = mixers_of(preset, task) if task in tasks.TASKS else []
    recipe = PRESETS[preset](task, mixers[0], 0) if mixers else None
    return build_task(recipe).variant if recipe else None


def has_own_data(column: Column) -> bool:
    """Tell whether a column has the data that its preset asks for, not a variant of it."""
    return column.variant == own_variant(column.preset, column.task)


def has_preset_options(column: Column) -> bool:
    """Tell whether a column has the data that its preset asks for, or as much of other data."""
    options = ",".join(part for part in column.variant.split(",") if "=" in part)
    return options == own_variant(column.preset, column.task)


def _averaged(suite: Suite, columns: Sequence[Column], which: int) -> list[Column]:
    wanted = suite.averages[which].tasks if suite.averages else ()
    able = [column for column in columns if has_preset_options(column)]
    latest = {
        column.task: column
        for column in sorted(able, key=lambda column: (has_own_data(column), column.version))
    }
    return [latest[task] for task in wanted if task in latest]


def is_comparable(column: Column, score: Score, changes: str = "") -> bool:
    """Tell whether a score was made under the board's recipe and within the parameter budget."""
    budget = suite_of(column.task).parameter_budget
    is_known = score.parameter_ratio is not None
    is_preset = column.changes == changes and column.preset not in INDIVIDUAL
    return is_preset and is_known and not score.is_over_budget(budget)


def _board(table: ScoreTable, columns: Sequence[Column], shared: str = "") -> Board:
    cells = {
        (row, column): score for column in columns for row, score in table.by_column[column].items()
    }
    lines = group(cells, lambda at: (at[0], at[1].changes))
    keys = sorted(lines, key=lambda key: (row_order(key[0]), key[1]))
    plain = dict.fromkeys(_plain(column) for column in columns)
    order = sorted(plain, key=lambda column: not has_own_data(column))
    comparable, free = [], []
    for row, changes in keys:
        own = {at[1]: cells[at] for at in lines[row, changes]}
        level = {at: score for at, score in own.items() if is_comparable(at, score, shared)}
        rest = {column: score for column, score in own.items() if column not in level}
        stated = "" if changes == shared else changes
        if level:
            comparable.append(_line(row, stated, level, level, order))
        if rest:
            free.append(_line(row, stated, rest, own, order))
    first = columns[0]
    return Board(
        suite=suite_of(first.task),
        preset=first.preset,
        columns=tuple(order),
        comparable=tuple(comparable),
        free=tuple(free),
        tuning=first.tuning,
        changes=shared,
    )


def _line(
    row: Row,
    changes: str,
    scores: Mapping[Column, Score],
    averaged: Mapping[Column, Score],
    columns: Sequence[Column],
) -> Line:
    suite = suite_of(columns[0].task)
    plain = {_plain(column): score for column, score in averaged.items()}
    averages = tuple(
        _average(plain, _averaged(suite, columns, which), len(each.tasks))
        for which, each in enumerate(suite.averages)
    )
    return Line(row, changes, {_plain(at): score for at, score in scores.items()}, averages)


def _plain(column: Column) -> Column:
    """Return a column as its board shows it; what it changes in the preset is said once."""
    return replace(column, changes="")


def _average(
    scores: Mapping[Column, Score], columns: Sequence[Column], num_wanted: int
) -> Average | None:
    """Average the scores of some columns; those of different metrics have no average."""
    found = {at: mean for at in columns if at in scores and (mean := scores[at].mean) is not None}
    if not found or len({column.metric for column in found}) > 1:
        return None
    return Average(fmean(found.values()), len(found), num_wanted)


def _spread(means: Sequence[float]) -> Spread | None:
    if not means:
        return None
    return Spread(fmean(means), stdev(means) if len(means) > 1 else None)

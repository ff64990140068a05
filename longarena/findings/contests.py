"""Contests: mechanisms that have scores on the same tasks, so that they can be put in an order.

    Contest    some columns of one board, and the mechanisms trained alike that have them all
    value      the mean over the columns
    error      sqrt(sum of squared errors) / number of columns
    tied       neither is better than the other beyond error (`ties.py`)

A suite has the contest of its first average and one per column, all of one board: the one that
compares the most.

Choice: the more tasks a contest has, the fewer mechanisms have done all of them. The tasks are
        those with the largest (number of tasks)^2 x (number of mechanisms), so that breadth counts
        most. Who lacks one of them is named with what is missing, and is not in the order.
Choice: who has more parameters than the suite's budget takes part, and is marked (`size`): in an
        answer that leaves out a third of the mechanisms the best may be missing. A question can
        ask for those within the budget alone.
Choice: the test sets of two tasks have nothing to do with each other, so the half-widths of their
        intervals are added as squares.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean
from typing import Literal

from longarena.findings.boards import Board, has_preset_options
from longarena.findings.scores import Column, Row, Score, group
from longarena.findings.suites import YOURS
from longarena.findings.ties import Pairs
from longarena.records.record import is_significant
from longarena.records.summary import Run
from longarena.tracks.metric import Metric

# more than this many columns of a suite are too many to choose from
MAX_COLUMNS = 12

Compare = Callable[[Board, Column], Pairs]
Why = Literal["not run", "diverged", "no baseline"]


@dataclass(frozen=True)
class Entry:
    """A mechanism of a contest: its mean score, the error, and whether it beats the level.

    `size` is its number of parameters relative to the baseline's, in the column where it is most.
    """

    row: Row
    value: float
    error: float
    has_learnt: bool
    size: float


@dataclass(frozen=True)
class Gap:
    """A column in which a mechanism has no score to compare, and why."""

    column: Column
    why: Why


@dataclass(frozen=True)
class Contest:
    """Mechanisms on the same tasks, the best first; `absent` are those that lack some of them."""

    board: Board
    columns: tuple[Column, ...]
    entries: tuple[Entry, ...]
    tied: frozenset[frozenset[Row]]
    absent: dict[Row, tuple[Gap, ...]]

    @property
    def metric(self) -> Metric:
        """The metric that all columns share."""
        return self.columns[0].metric

    @property
    def level(self) -> float:
        """What an answer without a model scores."""
        return fmean(map(self.board.level, self.columns))

    @property
    def lengths(self) -> list[int]:
        """The tokens of an average example, task by task, where that is known."""
        found = [_any_run(self.board.alike(column)) for column in self.columns]
        return [length for run in found if (length := tokens_per_example(run))]

    @property
    def length(self) -> int | None:
        """The tokens of an average example of the longest task."""
        return max(self.lengths, default=None)

    @property
    def num_seeds(self) -> int:
        """The fewest seeds that stand behind a score."""
        rows = {entry.row for entry in self.entries}
        scores = [self.board.alike(column) for column in self.columns]
        return min(len(found[row].values) for found in scores for row in rows)

    def is_over_budget(self, entry: Entry) -> bool:
        """Tell whether a mechanism has more parameters than the rules of the suite allow."""
        return entry.size > self.board.suite.parameter_budget

    def tied_with(self, row: Row) -> list[Row]:
        """Return who is tied with a mechanism, if that takes part and has learnt anything."""
        has_learnt = any(each.row == row and each.has_learnt for each in self.entries)
        others = [each.row for each in self.entries if each.row != row]
        return [other for other in others if has_learnt and self.is_tied(row, other)]

    def is_tied(self, one: Row, other: Row) -> bool:
        """Tell whether neither of two is better than the other beyond error."""
        return one == other or frozenset((one, other)) in self.tied


def contests(boards: Iterable[Board], compare: Compare) -> list[Contest]:
    """List the contests, suite by suite, that of several tasks before those of one."""
    found = []
    for of_suite in group(filter(_is_common, boards), lambda board: board.suite.name).values():
        board = max(of_suite, key=lambda each: (_breadth(each), bool(each.tuning.words)))
        average = average_contest(board, compare)
        of_columns = [_contest(board, (column,), compare) for column in _columns(board)]
        found += [average] if average else []
        found += [contest for contest in of_columns if len(contest.entries) > 1]
    return found


def average_contest(board: Board, compare: Compare) -> Contest | None:
    """Compare the first average of a board's suite, as far as mechanisms have the same tasks."""
    shared = _shared(board, _averaged(board)) if _is_common(board) else ()
    contest = _contest(board, shared, compare) if len(shared) > 1 else None
    return contest if contest and len(contest.entries) > 1 else None


def tokens_per_example(run: Run) -> int | None:
    """Return the tokens of an average training example; None if the run was never timed."""
    speed = run.metrics.steps_per_second
    return round(run.metrics.tokens_per_second / speed / run.recipe.batch_size) if speed else None


def _is_common(board: Board) -> bool:
    return board.has_common_recipe and bool(board.comparable)


def _breadth(board: Board) -> int:
    """Say how much a board compares."""
    shared = _shared(board, _averaged(board) or _columns(board))
    return len(shared) ** 2 * len(_having(board, shared))


def _averaged(board: Board) -> list[Column]:
    """Return the columns that the suite's first average is over, if they share a metric."""
    return [] if board.average_metric(0) is None else board.averaged(0)


def _columns(board: Board) -> list[Column]:
    """Return the columns with the data that the preset asks for, or all where there are none."""
    own = [column for column in board.columns if has_preset_options(column)]
    every = own if own and board.suite is not YOURS else board.columns
    chosen = sorted(every, key=lambda at: -len(board.alike(at)))[:MAX_COLUMNS]
    return [column for column in every if column in chosen]


def _shared(board: Board, columns: Sequence[Column]) -> tuple[Column, ...]:
    """Choose the columns that a contest is over: many, and many mechanisms that have them all."""
    having = {held & frozenset(columns) for held in _held(board).values()}
    sets = [tuple(at for at in columns if at in one & other) for one in having for other in having]
    return max(
        filter(None, sets),
        key=lambda each: (
            len(each) ** 2 * len(_having(board, each)),
            len(each),
            [-columns.index(column) for column in each],
        ),
        default=(),
    )


def _held(board: Board) -> dict[Row, frozenset[Column]]:
    """Return the columns in which each mechanism has a score to compare."""
    columns = [(at, board.alike(at).items()) for at in board.columns]
    held = group(
        ((row, at) for at, scores in columns for row, score in scores if score.mean is not None),
        lambda pair: pair[0],
    )
    return {row: frozenset(at for _, at in found) for row, found in held.items()}


def _having(board: Board, columns: Sequence[Column]) -> list[Row]:
    """Return the mechanisms with a score to compare in all of some columns."""
    return [row for row, held in _held(board).items() if held.issuperset(columns)]


def _contest(board: Board, columns: tuple[Column, ...], compare: Compare) -> Contest:
    rows = _having(board, columns)
    entries = [_entry(board, row, columns) for row in rows]
    sign = 1 if columns[0].metric.better == "more" else -1
    compared = [compare(board, column) for column in columns] if len(rows) > 1 else []
    return Contest(
        board,
        columns,
        entries=tuple(sorted(entries, key=lambda entry: -sign * entry.value)),
        tied=frozenset(
            frozenset(pair) for pair in combinations(rows, 2) if _is_tie(compared, *pair)
        ),
        absent=_absent(board, columns, rows),
    )


def _entry(board: Board, row: Row, columns: Sequence[Column]) -> Entry:
    scores = [board.alike(column)[row] for column in columns]
    value = fmean(score.mean for score in scores if score.mean is not None)
    error = math.hypot(*(score.error for score in scores)) / len(scores)
    level = fmean(map(board.level, columns))
    return Entry(
        row,
        value,
        error,
        has_learnt=is_significant(columns[0].metric, value, level, error),
        size=max(score.parameter_ratio or 1.0 for score in scores),
    )


def _is_tie(compared: Sequence[Pairs], one: Row, other: Row) -> bool:
    found = [pairs[one][other] for pairs in compared]
    reach = math.hypot(*((each.high - each.low) / 2 for each in found))
    return abs(sum(each.value for each in found)) <= reach


def _absent(
    board: Board, columns: Sequence[Column], rows: Sequence[Row]
) -> dict[Row, tuple[Gap, ...]]:
    lines = [line for line in (*board.comparable, *board.free) if not line.changes]
    others = dict.fromkeys(line.row for line in lines if line.row not in rows)
    return {
        row: tuple(Gap(at, why) for at in columns if (why := _why(board, row, at)))
        for row in others
    }


def _why(board: Board, row: Row, column: Column) -> Why | None:
    """Say why a mechanism has no score to compare in a column; None if it has one."""
    if score := board.alike(column).get(row):
        return "diverged" if score.mean is None else None
    lines = [line for line in board.free if line.row == row and not line.changes]
    return "no baseline" if any(column in line.scores for line in lines) else "not run"


def _any_run(scores: dict[Row, Score]) -> Run:
    return next(iter(scores.values())).runs[0]

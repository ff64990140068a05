"""The leaderboards as tables: one per preset and machine, comparable results apart from free ones.

A cell is the mean over seeds in percent with its standard deviation. The last rows are the paper's
(mean and deviation over mechanisms) and the score of always naming the commonest class.
"""

from collections.abc import Sequence
from dataclasses import replace

from longarena.report import names
from longarena.report.table import EMPTY, MISSING, Cell, Table, distinct, mark_columns, slug
from longarena.store.boards import (
    Average,
    Board,
    Line,
    Spread,
    boards,
    own_variant,
    spread_of_averages,
)
from longarena.store.folder import Records
from longarena.store.tables import Column, Score, accuracy_table

COLLAPSED, CHANCE = "collapsed", "chance"


def accuracy_tables(records: Records) -> list[Table]:
    """Tabulate test accuracies in percent, with the spread over seeds."""
    found = boards(accuracy_table(records.runs))
    tables = [_comparable(board) for board in found if board.comparable]
    return distinct([*tables, *(_free(board) for board in found if board.free)])


def _comparable(board: Board) -> Table:
    table = _table(board, board.comparable)
    means = _means(board, board.columns_of(board.comparable))[: len(table.columns)]
    marked = mark_columns(table.rows, range(1, len(table.columns)))
    rows = tuple(tuple(map(_unless_luck, row)) for row in marked)
    return replace(table, rows=rows, footers=(means, *table.footers))


def _unless_luck(cell: Cell) -> Cell:
    """Call nothing the best that a constant answer might have scored as well."""
    is_luck = {COLLAPSED, CHANCE} & set(cell.note.split(", "))
    return replace(cell, is_best=cell.is_best and not is_luck)


def _free(board: Board) -> Table:
    """Tabulate results of recipes that differ; so none of them is the best."""
    table = _table(board, board.free)
    return replace(table, name=f"{table.name}-free", title=f"{table.title}, free results")


def _table(board: Board, lines: Sequence[Line]) -> Table:
    averages = ["Average", "with Path-X"][: 2 if _has_path_x(board) else 1]
    columns = board.columns_of(lines)
    width = 1 + len(columns) + len(averages)
    majorities = [board.majority(column) for column in columns]
    cells = [Cell(names.percent(share), 100 * share) for share in majorities]
    return Table(
        name=f"accuracy-{slug(board.preset)}",
        title=f"Test accuracy in percent, preset {board.preset}",
        columns=("Mechanism", *(_column_name(c, board.columns) for c in columns), *averages),
        rows=tuple(_row(line, columns)[:width] for line in lines),
        footers=((Cell("Commonest class"), *cells, *[EMPTY] * len(averages)),),
        note=f"Mean and standard deviation over seeds, {board.machine}. Chance: not above the "
        "commonest class by three standard errors. A factor: its parameters, relative to the "
        "Transformer, exceed 1.10.",
    )


def _has_path_x(board: Board) -> bool:
    return any(column.task == "path-x" for column in board.columns)


def _column_name(column: Column, among: Sequence[Column]) -> str:
    """Name the task, how its data differs from the preset's, and what else tells columns apart."""
    is_alone = sum(other.task == column.task for other in among) == 1
    parts = _other_data(column) if is_alone else names.data_parts(column, among)
    return ", ".join(filter(None, [names.task_title(column.task).partition(" (")[0], *parts]))


def _other_data(column: Column) -> list[str]:
    expected = (own_variant(column.preset, column.task) or "").split(",")
    return [part for part in column.variant.split(",") if part not in expected]


def _row(line: Line, columns: Sequence[Column]) -> tuple[Cell, ...]:
    named = ", ".join(filter(None, [names.row_name(line.row), line.changes]))
    cells = [_score(line.scores.get(column)) for column in columns]
    return Cell(named), *cells, _average(line.five), _average(line.six)


def _score(score: Score | None) -> Cell:
    if score is None:
        return MISSING
    if score.mean is None:
        return Cell("diverged")
    notes = [COLLAPSED] if score.num_collapsed == len(score.accuracies) else []
    notes += [] if notes or score.is_above_majority else [CHANCE]
    notes += [names.ratio(score.parameter_ratio or 0.0)] if score.is_over_budget else []
    spread = None if score.spread is None else 100 * score.spread
    return Cell(names.percent(score.mean), 100 * score.mean, spread, note=", ".join(notes))


def _average(average: Average | None) -> Cell:
    if average is None:
        return MISSING
    if average.is_partial:  # not the same tasks, so no value that could be the best
        return Cell(
            names.percent(average.mean), note=f"{average.num_tasks} of {average.num_wanted}"
        )
    return Cell(names.percent(average.mean), 100 * average.mean)


def _means(board: Board, columns: Sequence[Column]) -> tuple[Cell, ...]:
    """Write the paper's last row: mean and deviation over mechanisms."""
    spreads = [board.spread(column) for column in columns]
    spreads += [spread_of_averages(line.five for line in board.comparable)]
    spreads += [spread_of_averages(line.six for line in board.comparable)]
    return Cell("Mean over mechanisms"), *map(_mean, spreads)


def _mean(spread: Spread | None) -> Cell:
    if spread is None:
        return MISSING
    deviation = None if spread.deviation is None else 100 * spread.deviation
    return Cell(names.percent(spread.mean), 100 * spread.mean, deviation)

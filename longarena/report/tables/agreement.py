"""Whether tasks order the mechanisms alike, and as the paper does: a table per board."""

from collections.abc import Mapping

from longarena.findings import published
from longarena.findings.agreement import agreement
from longarena.findings.boards import Board
from longarena.findings.scores import Column as ScoreColumn
from longarena.report import formatting
from longarena.report.findings import Findings
from longarena.report.tables.scores import board_title, short_parts
from longarena.table.table import MISSING, Cell, Column, Row, Table, distinct, slug

TASK = Column("Task", "name")
PAPER = Column("Paper", details=("same task",), role="theirs")

# by mechanism, more is better
Order = Mapping[str, float]


def agreement_tables(found: Findings) -> list[Table]:
    """Tabulate the agreement of every two columns of a board, where any can be computed."""
    return distinct(filter(_says_something, map(agreement_table, found.boards)))


def agreement_table(board: Board) -> Table:
    """Tabulate how far the columns of a board agree with each other and with the paper."""
    orders = {column: _order(board, column) for column in board.columns}
    names = {column: _name(board, column) for column in board.columns}
    has_paper = any(column.task in published.TASKS for column in orders)
    rows = [
        Row(
            (
                Cell(names[column]),
                *(MISSING if at is column else _cell(order, orders[at]) for at in orders),
                *([_cell(order, _published(column))] if has_paper else []),
            )
        )
        for column, order in orders.items()
    ]
    source = f" Paper: {published.PAPER.source}." if has_paper else ""
    return Table(
        name=f"agreement-{board.suite.name}-{slug(board.preset)}",
        title=f"{board_title(board)}: how far tasks agree on the order",
        columns=(TASK, *map(Column, names.values()), *([PAPER] if has_paper else [])),
        rows=tuple(rows),
        note="Spearman's rank correlation of the test scores of all that were trained alike, and "
        "of how many mechanisms: 1 is the same order, 0 no relation. By chance: unrelated orders "
        f"come as far in more than 5 of 100 cases.{source}",
    )


def _says_something(table: Table) -> bool:
    return any(cell.value is not None for row in table.rows for cell in row.cells)


def _name(board: Board, column: ScoreColumn) -> str:
    return ", ".join([formatting.task_word(column.task), *short_parts(column, board.columns)])


def _order(board: Board, column: ScoreColumn) -> Order:
    sign = 1 if column.metric.better == "more" else -1
    scores = board.alike(column)
    return {
        row.mixer: sign * score.mean
        for row, score in scores.items()
        if score.mean is not None and not row.options
    }


def _published(column: ScoreColumn) -> Order:
    found = {m: published.accuracy(published.PAPER, m, column.task) for m in published.SYSTEMS}
    return {mixer: number for mixer, number in found.items() if isinstance(number, float)}


def _cell(one: Order, other: Order) -> Cell:
    found = agreement(one, other)
    if found is None:
        return MISSING
    is_chance = abs(found.value) < found.by_chance
    return Cell(
        f"{found.value:.2f}",
        found.value,
        note=f"{found.count}, by chance" if is_chance else str(found.count),
        tone="partial" if is_chance else "",
    )

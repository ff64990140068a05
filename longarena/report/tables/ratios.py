"""Our speed and memory beside the paper's, each relative to the Transformer of its own session.

The hardware differs, so only ratios are compared, at the longest length that both have. What the
paper could not time (Longformer, Sparse, everything later) has a number here alone.
"""

from longarena.report import names
from longarena.report.table import MISSING, Cell, Table, distinct, mark_columns
from longarena.report.tables.costs import sessions, where
from longarena.store import published
from longarena.store.costs import CostTable
from longarena.store.folder import Records
from longarena.store.tables import BASELINE, Row

COLUMNS = ("Mechanism", "Speed", "Speed in the paper", "Memory", "Memory in the paper")


def ratio_tables(records: Records) -> list[Table]:
    """Tabulate the ratios of every session that has the Transformer at a length of the paper."""
    found = [(table, _length(table)) for table in sessions(records)]
    return distinct(_table(table, length) for table, length in found if length)


def _length(table: CostTable) -> int | None:
    lengths = {length for row, length in table.costs if row == Row(BASELINE)}
    return max(lengths & {*published.COST_LENGTHS}, default=None)


def _table(table: CostTable, length: int) -> Table:
    rows = [_row(table, row, length) for row in table.rows if (row, length) in table.costs]
    marked = mark_columns(mark_columns(rows, (1, 2)), (3, 4), min)
    return Table(
        name="ratios",
        title="Speed and peak memory relative to the Transformer at "
        f"{names.length_name(length)}, here and in the paper",
        columns=COLUMNS,
        rows=marked,
        note=f"Here: {where(table)} {published.COST_SOURCE}.",
    )


def _row(table: CostTable, row: Row, length: int) -> tuple[Cell, ...]:
    cost, paper = table.costs[row, length], published.cost_ratio(row.mixer, length)
    return (
        Cell(names.row_name(row)),
        *(_ratio(cost.speed_ratio), _ratio(paper.speed if paper else None)),
        *(_ratio(cost.memory_ratio), _ratio(paper.memory if paper else None)),
    )


def _ratio(value: float | None) -> Cell:
    return MISSING if value is None else Cell(names.ratio(value), value)

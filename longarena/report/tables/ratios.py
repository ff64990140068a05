"""Our speed and memory beside the paper's, each relative to the Transformer of its own session.

The hardware differs, so only ratios are compared, at the longest length that both have. What the
paper could not time (Longformer, Sparse, everything later) has a number here alone.
"""

from longarena.findings import published
from longarena.findings.costs import CostTable
from longarena.findings.scores import BASELINE
from longarena.findings.scores import Row as Mechanism
from longarena.report import formatting
from longarena.report.tables.costs import where
from longarena.report.tables.mechanism import MECHANISM, mechanism
from longarena.table.table import MISSING, Cell, Column, Row, Table, mark_best

COLUMNS = (
    MECHANISM,
    Column("Speed", better="more"),
    Column("Speed in the paper", better="more"),
    Column("Memory", better="less"),
    Column("Memory in the paper", better="less"),
)


def ratio_table(session: CostTable) -> Table | None:
    """Tabulate the ratios of a session that has the Transformer at a length of the paper."""
    lengths = {length for row, length in session.costs if row == Mechanism(BASELINE)}
    length = max(lengths & {*published.COST_LENGTHS}, default=None)
    if length is None:
        return None
    rows = [_row(session, row, length) for row in session.rows if (row, length) in session.costs]
    return mark_best(
        Table(
            name="ratios",
            title="Speed and peak memory relative to the Transformer at "
            f"{formatting.length_name(length)}, here and in the paper",
            columns=COLUMNS,
            rows=tuple(rows),
            note=f"Here: {where(session)} {published.COST_SOURCE}.",
        )
    )


def _row(session: CostTable, row: Mechanism, length: int) -> Row:
    cost, paper = session.costs[row, length], published.cost_ratio(row.mixer, length)
    ratios = (
        *(cost.speed_ratio, paper.speed if paper else None),
        *(cost.memory_ratio, paper.memory if paper else None),
    )
    return Row((mechanism(row), *map(ratio_cell, ratios)))


def ratio_cell(value: float | None) -> Cell:
    """Write how many times as much, or that nobody knows."""
    return MISSING if value is None else Cell(formatting.ratio(value), value)

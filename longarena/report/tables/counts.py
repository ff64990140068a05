"""What a model costs without a clock, as tables: Mult-Adds per token by kind of layer.

One table per length, so that it can be read off where the feed-forward dominates and where the
attention does. The least is the best, of parameters, training step and activations; to have no
convolution is no merit.
"""

from longarena.report import names
from longarena.report.table import Cell, Table, distinct, mark_columns
from longarena.report.tables.costs import sessions, where
from longarena.store.costs import CostTable
from longarena.store.folder import Records
from longarena.store.record import Cost
from longarena.store.tables import BASELINE, Row

COLUMNS = (
    *("Mechanism", "Parameters", "Attention", "Convolution", "Feed-forward", "Head, embedding"),
    *("Training step", "Relative", "Activations"),
)
MARKED = ("Parameters", "Training step", "Relative", "Activations")


def count_tables(records: Records) -> list[Table]:
    """Tabulate the counts of every length at which there are any."""
    return distinct(
        _table(each, length)
        for each in sessions(records)
        for length in each.lengths
        if _counts(each, length)
    )


def _counts(table: CostTable, length: int) -> dict[Row, Cost]:
    found = {row: table.costs.get((row, length)) for row in table.rows}
    return {row: cost.count for row, cost in found.items() if cost and cost.count}


def _table(table: CostTable, length: int) -> Table:
    counts = _counts(table, length)
    base = counts.get(Row(BASELINE))
    rows = [(Cell(names.row_name(row)), *_cells(cost, base)) for row, cost in counts.items()]
    return Table(
        name=f"cost-{length}",
        title=f"Parameters and Mult-Adds per token at length {names.length_name(length)}",
        columns=COLUMNS,
        rows=mark_columns(rows, map(COLUMNS.index, MARKED), min),
        note=f"Forward pass by kind of layer; a training step is forward and backward. "
        f"{where(table)}",
    )


def _cells(cost: Cost, base: Cost | None) -> tuple[Cell, ...]:
    mixer = (cost.attention, cost.convolution)
    kinds = (*mixer, cost.feed_forward, cost.head_and_embedding, cost.training_step)
    relative = cost.training_step / base.training_step if base else None
    return (
        Cell(f"{cost.parameters:,}", cost.parameters),
        *(Cell(names.short(count), count) for count in kinds),
        Cell("" if relative is None else names.ratio(relative), relative),
        Cell(names.bytes_name(cost.activation_bytes), cost.activation_bytes),
    )

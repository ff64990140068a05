"""What a model costs without a clock, as tables: Mult-Adds per token by kind of layer.

One table per length shows where the feed-forward dominates and where the attention does. The least
is the best, of parameters, training step and activations; having no convolution is not a merit.
"""

from longarena.findings.costs import CostTable
from longarena.findings.scores import BASELINE
from longarena.findings.scores import Row as Mechanism
from longarena.records.record import Cost
from longarena.report import formatting
from longarena.report.findings import Findings
from longarena.report.tables.costs import where
from longarena.report.tables.mechanism import MECHANISM, mechanism
from longarena.table.table import Cell, Column, Row, Table, distinct, mark_best

COLUMNS = (
    MECHANISM,
    Column("Parameters", better="less"),
    *map(Column, ("Attention", "Convolution", "Feed-forward", "Head, embedding")),
    Column("Training step", better="less"),
    Column("Relative", better="less"),
    Column("Activations", better="less"),
)


def count_tables(found: Findings) -> list[Table]:
    """Tabulate the counts of every length at which there are any."""
    return distinct(table for session in found.costs for table in session_counts(session))


def session_counts(session: CostTable) -> list[Table]:
    """Tabulate the counts of one session, from the shortest length to the longest."""
    counts = [(length, _counts(session, length)) for length in session.lengths]
    return [_table(session, length, found) for length, found in counts if found]


def _counts(session: CostTable, length: int) -> dict[Mechanism, Cost]:
    found = {row: session.costs.get((row, length)) for row in session.rows}
    return {row: cost.count for row, cost in found.items() if cost and cost.count}


def _table(session: CostTable, length: int, counts: dict[Mechanism, Cost]) -> Table:
    base = counts.get(Mechanism(BASELINE))
    rows = [
        Row((mechanism(row, has_family=False), *_cells(cost, base))) for row, cost in counts.items()
    ]
    return mark_best(
        Table(
            name=f"cost-{length}",
            title=f"Parameters and Mult-Adds per token at length {formatting.length_name(length)}",
            columns=COLUMNS,
            rows=tuple(rows),
            note=f"Forward pass by kind of layer; a training step is forward and backward. "
            f"{where(session)}",
        )
    )


def _cells(cost: Cost, base: Cost | None) -> tuple[Cell, ...]:
    mixer = (cost.attention, cost.convolution)
    kinds = (*mixer, cost.feed_forward, cost.head_and_embedding, cost.training_step)
    relative = cost.training_step / base.training_step if base else None
    return (
        Cell(f"{cost.parameters:,}", cost.parameters),
        *(Cell(formatting.short(count), count) for count in kinds),
        Cell("" if relative is None else formatting.ratio(relative), relative),
        Cell(formatting.bytes_name(cost.activation_bytes), cost.activation_bytes),
    )

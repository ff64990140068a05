"""The numbers of the papers as tables, each with its source; ours never stand among them."""

from collections.abc import Callable

from longarena.findings import published
from longarena.findings.published import PublishedCost, PublishedScores, PublishedTable
from longarena.report import formatting
from longarena.report.findings import Findings
from longarena.report.tables.ratios import ratio_cell
from longarena.table.table import MISSING, Better, Cell, Column, Row, Table, mark_best, slug

SYSTEM = Column("System", "name")


def published_tables(_found: Findings) -> list[Table]:
    """Tabulate all published numbers; they do not depend on the records."""
    tables = [*map(published_scores, published.TABLES), *published_costs(), later_ratios()]
    return [*tables, published_bits()]


def published_scores(table: PublishedTable) -> Table:
    """Tabulate accuracies that were reported together."""
    numbers = (*map(formatting.task_word, published.TASKS), "Average", "with Path-X")
    recalled = "Quoted from memory." if table.recalled else ""
    columns = (
        *(SYSTEM, *(Column(title, better="more") for title in numbers)),
        *(Column("Printed"), Column("Remark", "remark")),
    )
    return mark_best(
        Table(
            name=f"published-{slug(table.title)}",
            title=f"Published: {table.title}",
            columns=columns,
            rows=tuple(map(_row, table.rows)),
            note=" ".join(
                filter(None, [f"{table.source}, {table.address}.", recalled, table.note])
            ),
        )
    )


def published_costs() -> list[Table]:
    """Tabulate the speed and the memory that the paper of the arena reports."""
    return [
        _costs("speed", "steps per second", lambda cost: cost.steps_per_second, "more", 1),
        _costs("memory", "peak memory in GB", lambda cost: cost.gigabytes, "less", 2),
    ]


def later_ratios() -> Table:
    """Tabulate speed and memory of later systems."""
    rows = [
        Row((Cell(row.system), ratio_cell(row.speed), ratio_cell(row.memory)))
        for row in published.LATER_RATIOS
    ]
    return mark_best(
        Table(
            name="published-later-ratios",
            title="Published: speed and memory of later systems",
            columns=(SYSTEM, Column("Speed", better="more"), Column("Memory", better="less")),
            rows=tuple(rows),
            note=f"{published.RATIO_SOURCE}.",
        )
    )


def published_bits() -> Table:
    """Tabulate the bits per byte of language models."""
    rows = [
        Row(
            (
                Cell(row.system),
                MISSING if row.millions is None else Cell(f"{row.millions:.0f}", row.millions),
                Cell(f"{row.bits:.2f}", row.bits),
                Cell(row.source),
            )
        )
        for row in published.ENWIK8_BITS
    ]
    columns = (
        *(SYSTEM, Column("Parameters", details=("millions",))),
        *(Column("Bits per byte", better="less"), Column("Source", "remark")),
    )
    return mark_best(
        Table(
            name=f"published-{slug(published.BITS_TITLE)}",
            title=f"Published: {published.BITS_TITLE}",
            columns=columns,
            rows=tuple(rows),
            note=f"{published.BITS_SOURCE}.",
        )
    )


def _row(row: PublishedScores) -> Row:
    accuracies = row.accuracies or (None,) * len(published.TASKS)
    averages = (row.average, row.average_with_path_x, row.printed_average)
    return Row(
        (
            Cell(row.system),
            *map(printed, accuracies),
            *(MISSING if value is None else Cell(f"{value:.2f}", value) for value in averages),
            Cell(row.note),
        )
    )


def printed(accuracy: published.Accuracy) -> Cell:
    """Show a published percentage, a failure, or that nobody printed one."""
    if accuracy is None:
        return MISSING
    return Cell(accuracy) if isinstance(accuracy, str) else Cell(f"{accuracy:.2f}", accuracy)


def _costs(
    name: str,
    title: str,
    read: Callable[[PublishedCost], tuple[float, ...]],
    better: Better,
    decimals: int,
) -> Table:
    lengths = map(formatting.length_name, published.COST_LENGTHS)
    rows = [
        Row((Cell(cost.system), *(Cell(f"{value:.{decimals}f}", value) for value in read(cost))))
        for cost in published.PAPER_COSTS
    ]
    return mark_best(
        Table(
            name=f"published-{name}",
            title=f"Published: {title} on Text by length",
            columns=(SYSTEM, *(Column(length, better=better) for length in lengths)),
            rows=tuple(rows),
            note=f"{published.COST_SOURCE}.",
        )
    )

"""The numbers of the papers as tables, each with its source; ours never stand among them."""

from collections.abc import Callable

from longarena.report import names
from longarena.report.table import MISSING, Cell, Table, mark_columns, slug
from longarena.store import published
from longarena.store.folder import Records
from longarena.store.published import PublishedCost, PublishedScores, PublishedTable

TITLES = [names.task_title(task).partition(" (")[0] for task in published.TASKS]


def published_tables(records: Records) -> list[Table]:
    """Tabulate all published numbers; they do not depend on the records."""
    return [
        *map(_scores, published.TABLES),
        _costs("speed", "steps per second", lambda cost: cost.steps_per_second),
        _costs("memory", "peak memory in GB", lambda cost: cost.gigabytes),
    ]


def _scores(table: PublishedTable) -> Table:
    columns = ("System", *TITLES, "Average", "with Path-X", "Printed", "Remark")
    recalled = "Quoted from memory." if table.recalled else ""
    return Table(
        name=f"published-{slug(table.title)}",
        title=f"Published: {table.title}",
        columns=columns,
        rows=mark_columns(map(_row, table.rows), range(1, len(columns) - 2)),
        note=" ".join(filter(None, [f"{table.source}, {table.address}.", recalled, table.note])),
    )


def _row(row: PublishedScores) -> tuple[Cell, ...]:
    accuracies = row.accuracies or (None,) * len(published.TASKS)
    averages = (row.average, row.average_with_path_x, row.printed_average)
    return (
        Cell(row.system),
        *(
            Cell(names.printed(each), each if isinstance(each, float) else None)
            for each in accuracies
        ),
        *(MISSING if value is None else Cell(f"{value:.2f}", value) for value in averages),
        Cell(row.note),
    )


def _costs(name: str, title: str, read: Callable[[PublishedCost], tuple[float, ...]]) -> Table:
    lengths = [names.length_name(length) for length in published.COST_LENGTHS]
    decimals, best = (1, max) if name == "speed" else (2, min)
    rows = [
        (Cell(cost.system), *(Cell(f"{value:.{decimals}f}", value) for value in read(cost)))
        for cost in published.PAPER_COSTS
    ]
    return Table(
        name=f"published-{name}",
        title=f"Published: {title} on Text by length",
        columns=("System", *lengths),
        rows=mark_columns(rows, range(1, 1 + len(lengths)), best),
        note=f"{published.COST_SOURCE}.",
    )

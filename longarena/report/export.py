"""Tables and charts as files for papers: any of them by name, in any format that it has.

    tables    latex, markdown, csv        charts    svg, png, pdf

The format decides whether `speed` means the table or the chart.
"""

from collections.abc import Callable, Mapping
from pathlib import Path

from longarena.data.files import write_atomically
from longarena.errors import UserError, unknown
from longarena.report.charts import charts
from longarena.report.figures import WRITERS, Figure, figures
from longarena.report.spans import spans
from longarena.report.table import Table
from longarena.report.tables import TABLES
from longarena.report.writers import latex, markdown, write_csv
from longarena.store.costs import cost_tables
from longarena.store.folder import Records
from longarena.store.tables import accuracy_table

ALL = "all"
CHARTS = ("picture", "speed", "memory", "curves", "spans")
TABLE_WRITERS: Mapping[str, tuple[str, Callable[[Table], str]]] = {
    "latex": ("tex", latex),
    "markdown": ("md", markdown),
    "csv": ("csv", write_csv),
}
FORMATS = (*TABLE_WRITERS, *WRITERS)
TRAINED, MEASURED = "longarena train listops linear", "longarena measure"
REMEDIES = {
    **dict.fromkeys(["accuracy", "curves"], TRAINED),
    **dict.fromkeys(["speed", "memory", "limit", "cost", "growth", "ratios"], MEASURED),
    **{"picture": f"{TRAINED}, and {MEASURED}", "spans": "longarena span RUN"},
}


def export(records: Records, what: str, kind: str, out: Path) -> list[Path]:
    """Write a table or chart, or all of them, into a folder and return the files."""
    _check(what, kind)
    if what == ALL and not (records.runs or records.measurements or records.spans):
        raise _nothing(records, what, kind)
    contents = (
        _tables(records, what, kind) if kind in TABLE_WRITERS else _charts(records, what, kind)
    )
    if not contents:
        raise _nothing(records, what, kind)
    paths = []
    for name, content in contents.items():
        paths.append(out / name)
        write_atomically(paths[-1], content)
    return paths


def find_tables(records: Records, what: str) -> list[Table]:
    """Return the tables of a kind, one table by its full name, or all."""
    if what in TABLES:
        return TABLES[what](records)
    makers = [make for kind, make in TABLES.items() if what == ALL or what.startswith(f"{kind}-")]
    found = [table for make in makers for table in make(records)]
    return [table for table in found if what in (ALL, table.name)]


def find_figures(records: Records, what: str) -> list[Figure]:
    """Return the figures of a chart, one figure by its full name, or all."""
    accuracy, costs = accuracy_table(records.runs), cost_tables(records.measurements)
    drawn = [*charts(accuracy, costs, records.runs), spans(records.spans)]
    found = [figure for chart in drawn if chart for figure in figures(chart)]
    return [f for f in found if what in (ALL, f.name) or f.name.startswith(f"{what}-")]


def _check(what: str, kind: str) -> None:
    if kind not in FORMATS:
        raise unknown("format", kind, FORMATS)
    table, chart = what.partition("-")[0] in TABLES, what.partition("-")[0] in CHARTS
    if what != ALL and not table and not chart:
        raise unknown("table or chart", what, {ALL, *TABLES, *CHARTS})
    if what != ALL and kind in TABLE_WRITERS and not table:
        raise UserError(f"{what} is a chart; choose the format {_either(WRITERS)}")
    if what != ALL and kind in WRITERS and not chart:
        raise UserError(f"{what} is a table; choose the format {_either(TABLE_WRITERS)}")


def _either(kinds: Mapping[str, object]) -> str:
    *others, last = kinds
    return f"{', '.join(others)} or {last}"


def _tables(records: Records, what: str, kind: str) -> dict[str, str | bytes]:
    suffix, write = TABLE_WRITERS[kind]
    return {f"{table.name}.{suffix}": write(table) for table in find_tables(records, what)}


def _charts(records: Records, what: str, kind: str) -> dict[str, str | bytes]:
    return {
        f"{figure.name}.{kind}": WRITERS[kind](figure.spec)
        for figure in find_figures(records, what)
    }


def _nothing(records: Records, what: str, kind: str) -> UserError:
    """Say which command makes the records that are missing, or which names there are."""
    base = what.partition("-")[0]
    if base != what and kind in TABLE_WRITERS and TABLES[base](records):
        return unknown("table", what, [table.name for table in TABLES[base](records)])
    remedy = REMEDIES.get(base, f"{TRAINED}, or {MEASURED}")
    return UserError(f"the store has no records for {what} yet; run: {remedy}")

"""Tables and charts as files for papers: any of them by name, in any format that it has.

    tables    latex, markdown, csv        charts    svg, png, pdf

The format decides whether `speed` means the table or the chart.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from longarena.data.files import write_atomically
from longarena.errors import UserError, unknown
from longarena.records.folder import Records
from longarena.report.charts import CHARTS, draw_charts
from longarena.report.charts.chart import ChartKind
from longarena.report.charts.chart_files import WRITERS, Figure, figures
from longarena.report.findings import Findings
from longarena.report.remedies import MEASURE, TRAIN
from longarena.report.showable import shown
from longarena.report.tables import TABLES
from longarena.report.tables.kind import TableKind
from longarena.runtime import no_collection
from longarena.table.csv import write_csv
from longarena.table.latex import latex
from longarena.table.markdown import markdown
from longarena.table.table import Table

ALL = "all"
TABLE_WRITERS: Mapping[str, tuple[str, Callable[[Table], str]]] = {
    "latex": ("tex", latex),
    "markdown": ("md", markdown),
    "csv": ("csv", write_csv),
}
FORMATS = (*TABLE_WRITERS, *WRITERS)


def export(records: Records, what: str, kind: str, out: Path) -> list[Path]:
    """Write a table or chart, or all of them, into a folder and return the files."""
    _check(what, kind)

    def make(some: Records) -> tuple[Findings, dict[str, str | bytes]]:
        found = Findings.of(some)
        write = _tables if kind in TABLE_WRITERS else _charts
        with no_collection():
            return found, write(found, what, kind)

    (found, contents), kept = shown(records, make)
    records.unreadable.update(kept.unreadable)
    if not contents or (what == ALL and not found.every):
        raise _nothing(found, what, kind)
    paths = []
    for name, content in contents.items():
        paths.append(out / name)
        write_atomically(paths[-1], content)
    return paths


def find_tables(found: Findings, what: str) -> list[Table]:
    """Return the tables of a kind, one table by its full name, or all."""
    tables = [table for name in _kinds(what, TABLES) for table in TABLES[name].make(found)]
    return [table for table in tables if what in (ALL, table.name) or what in TABLES]


def find_figures(found: Findings, what: str) -> list[Figure]:
    """Return the figures of a chart, one figure by its full name, or all."""
    drawn = [each for chart in draw_charts(found, _kinds(what, CHARTS)) for each in figures(chart)]
    return [figure for figure in drawn if what in (ALL, figure.name) or what in CHARTS]


def _kinds(what: str, known: Iterable[str]) -> list[str]:
    """Return the kinds that a name may belong to: its own, or that of which it names a part."""
    return [kind for kind in known if what in (ALL, kind) or what.startswith(f"{kind}-")]


def _check(what: str, kind: str) -> None:
    if kind not in FORMATS:
        raise unknown("format", kind, FORMATS)
    table, chart = bool(_kinds(what, TABLES)), bool(_kinds(what, CHARTS))
    if not table and not chart:
        raise unknown("table or chart", what, {ALL, *TABLES, *CHARTS})
    if kind in TABLE_WRITERS and not table:
        raise UserError(f"{what} is a chart; choose the format {_either(WRITERS)}")
    if kind in WRITERS and not chart:
        raise UserError(f"{what} is a table; choose the format {_either(TABLE_WRITERS)}")


def _either(kinds: Mapping[str, object]) -> str:
    *others, last = kinds
    return f"{', '.join(others)} or {last}"


def _tables(found: Findings, what: str, kind: str) -> dict[str, str | bytes]:
    suffix, write = TABLE_WRITERS[kind]
    return {f"{table.name}.{suffix}": write(table) for table in find_tables(found, what)}


def _charts(found: Findings, what: str, kind: str) -> dict[str, str | bytes]:
    return {
        f"{figure.name}.{kind}": WRITERS[kind](figure.spec) for figure in find_figures(found, what)
    }


def _nothing(found: Findings, what: str, kind: str) -> UserError:
    """Say which command makes the records that are missing, or which names there are."""
    if what == ALL:
        return UserError(f"there are no records for all yet; run: {TRAIN}, or {MEASURE}")
    known: Mapping[str, TableKind | ChartKind] = TABLES if kind in TABLE_WRITERS else CHARTS
    (base,) = _kinds(what, known)
    names = [each.name for each in _members(found, base, kind)]
    if names:
        return unknown("table" if kind in TABLE_WRITERS else "chart", what, names)
    return UserError(f"there are no records for {what} yet; run: {known[base].remedy}")


def _members(found: Findings, base: str, kind: str) -> Sequence[Table | Figure]:
    return find_tables(found, base) if kind in TABLE_WRITERS else find_figures(found, base)

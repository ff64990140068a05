"""The page: all records of a store in one HTML file that needs nothing else.

Static, offline, with its style, script and Vega inside; each run has a small page of its own
beside it (runs.py). Every string of a record is escaped and the data of the charts is embedded as
JSON that cannot close its element (environment.py says what else keeps the page harmless).

A section is one template; a new one is a file in templates/ and a line in page.html.
"""

from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path

import vl_convert
from markupsafe import Markup

from longarena.data.files import write_atomically
from longarena.report import names
from longarena.report.chart import Chart
from longarena.report.charts import charts
from longarena.report.environment import asset, day, environment, machine_line, policy
from longarena.report.pictures import Plate, gallery
from longarena.report.runs import AnyRun, RunLine, run_lines, write_run_pages
from longarena.report.samples import Sample, samples
from longarena.report.spans import spans
from longarena.store import published
from longarena.store.boards import Board, boards
from longarena.store.costs import CostTable, cost_tables
from longarena.store.families import family_table
from longarena.store.folder import Records
from longarena.store.record import Record
from longarena.store.tables import BASELINE, AccuracyTable, Row, accuracy_table

Choices = list[tuple[str, str]]


@dataclass(frozen=True)
class Findings:
    """What the records say, computed once for all sections."""

    records: Records
    accuracy: AccuracyTable
    boards: list[Board]
    costs: list[CostTable]
    lines: list[RunLine]
    charts: list[Chart]

    @classmethod
    def of(cls, records: Records) -> "Findings":
        """Make the tables and charts of some records."""
        accuracy, costs = accuracy_table(records.runs), cost_tables(records.measurements)
        span = spans(records.spans)
        return cls(
            records=records,
            accuracy=accuracy,
            boards=boards(accuracy),
            costs=costs,
            lines=run_lines([*records.runs, *records.failures]),
            charts=[*charts(accuracy, costs, records.runs), *([span] if span else [])],
        )

    @property
    def every(self) -> list[Record]:
        """All records of all kinds."""
        found = self.records
        return [*found.runs, *found.failures, *found.measurements, *found.spans]


def write_page(records: Records, out: Path, refresh_seconds: int | None = None) -> Path:
    """Write `out`/index.html and the pages of the runs, and return the path of the former.

    With `refresh_seconds` the page loads itself again, for a reader who watches a sweep.
    """
    found = Findings.of(records)
    write_run_pages(found.lines, out)
    path = out / "index.html"
    write_atomically(path, render_findings(found, refresh_seconds))
    return path


def render(records: Records) -> str:
    """Return the page of some records, without those of the runs."""
    return render_findings(Findings.of(records))


def render_findings(found: Findings, refresh_seconds: int | None = None) -> str:
    """Return the main page."""
    scripts = [*([vega()] if found.charts else []), asset("page.js")]
    compared, latest = _beside(found)
    hrefs = {id(line.record): line.href for line in found.lines}

    def href(record: AnyRun) -> str:
        return hrefs[id(record)]

    return (
        environment()
        .get_template("page.html")
        .render(
            **_facts(found),
            refresh_seconds=refresh_seconds,
            boards=found.boards,
            filters=_filters(found.lines),
            failures=found.records.failures,
            costs=found.costs,
            charts=found.charts,
            specifications={chart.name: chart.spec for chart in found.charts},
            families=family_table(found.records),
            beside_boards=compared,
            beside_table=latest,
            published=published,
            runs=found.lines,
            href=href,
            gallery=_gallery(),
            samples=_samples(),
            unreadable=sorted(found.records.unreadable.items()),
            sections=_sections(found, has_beside=bool(compared or latest)),
            scripts=[Markup(script) for script in scripts],
            policy=policy(scripts),
        )
    )


@cache
def vega() -> str:
    """Return Vega, Vega-Lite and their embedding as one script, about 0.9 MB."""
    bundle: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return bundle.replace("</script", "<\\/script")


@cache
def _gallery() -> list[Plate]:
    return gallery()


@cache
def _samples() -> list[Sample]:
    return samples()


def _facts(found: Findings) -> dict[str, object]:
    """Gather what the head of the page says."""
    rows = {*found.accuracy.rows, *(row for table in found.costs for row in table.rows)}
    return {
        "is_empty": not found.every,
        "num_runs": len(found.records.runs),
        "num_mechanisms": len({row.mixer for row in rows}),
        "num_measurements": len(found.records.measurements),
        "latest": day(max((record.finished_at for record in found.every), default="")),
        "machines": sorted({machine_line(record.machine) for record in found.every}),
        "version": version("longarena"),
    }


def _beside(found: Findings) -> tuple[list[Board], CostTable | None]:
    """Choose what has published numbers to stand beside: official data, full presets, ratios."""
    compared = [
        board
        for board in found.boards
        if board.preset in published.PRESETS
        and any(
            line.row.mixer in published.SYSTEMS and any(not at.variant for at in line.scores)
            for line in board.comparable
        )
    ]
    base = Row(BASELINE)
    timed = [t for t in found.costs if any((base, n) in t.costs for n in published.COST_LENGTHS)]
    return compared, timed[0] if timed else None


def _filters(lines: list[RunLine]) -> dict[str, Choices]:
    """List what runs can be chosen by."""
    recipes = [line.record.recipe for line in lines]
    families = {names.card(recipe.model.mixer).family for recipe in recipes}
    return {
        "preset": [(name, name) for name in sorted({recipe.preset for recipe in recipes})],
        "task": [
            (name, names.task_title(name)) for name in sorted({each.task.name for each in recipes})
        ],
        "family": [(family, family) for family in sorted(families)],
    }


def _sections(found: Findings, has_beside: bool) -> list[tuple[str, str]]:
    """List the sections that this page has, by their ids."""
    every = {
        ("leaderboard", "Leaderboard"): found.lines,
        ("costs", "Speed and memory"): found.costs,
        ("charts", "Charts"): found.charts,
        ("families", "Families"): True,
        ("beside", "Beside the papers"): has_beside,
        ("published", "Published numbers"): True,
        ("runs", "Runs"): found.lines,
        ("gallery", "Attention patterns"): True,
        ("tasks", "Tasks"): True,
        ("unreadable", "Unreadable records"): found.records.unreadable,
    }
    return [section for section, is_there in every.items() if is_there]

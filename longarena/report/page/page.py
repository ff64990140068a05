"""The page: all records of a folder in one HTML file that needs nothing else.

It is static and works offline, with its style, script and Vega inside; each run has a small page of
its own beside it (runs.py). Every string of a record is escaped, and the data of the charts is
embedded as JSON that cannot close its element (environment.py says what else keeps it harmless).

A section is one template; a new one is a file in templates/ and a line in page.html. Tables come
from `tables/`, charts from `charts/`; table.html writes every table.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path

import vl_convert
from markupsafe import Markup

from longarena.data.files import write_atomically
from longarena.findings.costs import CostTable
from longarena.records.folder import Records
from longarena.report import formatting
from longarena.report.charts import CHARTS, SUITE_CHARTS, draw_charts
from longarena.report.charts.chart import Chart
from longarena.report.findings import Findings
from longarena.report.links import RunLine
from longarena.report.page.answers import choice_answers, records_answer
from longarena.report.page.environment import asset, day, environment, machine_line, policy
from longarena.report.page.run_list import RunList, run_list
from longarena.report.page.runs import Pages, run_pages, write_run_pages
from longarena.report.page.samples import Sample, samples
from longarena.report.page.suites import suite_charts, suite_views, untried
from longarena.report.patterns.pictures import Plate, gallery
from longarena.report.remedies import COMPARE
from longarena.report.showable import shown
from longarena.report.tables.anchors import anchor_tables
from longarena.report.tables.beside import beside_costs, beside_scores, beside_session
from longarena.report.tables.costs import (
    growth_table,
    limit_table,
    memory_table,
    prediction_table,
    speed_table,
)
from longarena.report.tables.counts import session_counts
from longarena.report.tables.families import family_table
from longarena.report.tables.published import published_tables
from longarena.report.tables.runs import failure_tables
from longarena.report.tables.tuning import tuning_tables
from longarena.table.table import Table, distinct

Choices = list[tuple[str, str]]
# what a page has room for: sessions of measurements, choices or ways of tuning, and files
MOST_SESSIONS = 20
MOST_NAMED = 200
COSTS = (speed_table, memory_table, prediction_table, growth_table, limit_table)
# this chart follows the answer; those of the suites are in their tabs
PICTURE = "picture"
OTHER_CHARTS = [name for name in CHARTS if name not in (PICTURE, *SUITE_CHARTS)]
SCRIPTS = ("tabs.js", "answer.js", "page.js")
# how many mechanisms of the answer stand open
NUM_OPEN = 5
# what the form offers between score and speed
MATTERS = ("the score", "rather the score", "both alike", "rather the speed", "the speed")


def write_page(records: Records, out: Path, refresh_seconds: int | None = None) -> Path:
    """Write `out`/index.html and the pages of the runs, and return the path of the former.

    With `refresh_seconds` the page loads itself again, for a reader who watches a sweep. A record
    that cannot be shown is listed among the unreadable ones, here and in `records`.
    """
    # the tables first: they take less time, and most of what can go wrong is in them
    content, kept = shown(records, _Content.of)

    def index(some: Records) -> str:
        return render_content(content if some is kept else _Content.of(some), refresh_seconds)

    page, kept = shown(kept, index)
    records.unreadable.update(kept.unreadable)
    write_run_pages(content.pages, out)
    path = out / "index.html"
    write_atomically(path, page)
    return path


@dataclass(frozen=True)
class _Content:
    """What records say, what a page shows of it, its tables, and the pages of runs."""

    every: Findings
    found: Findings
    tables: dict[str, object]
    runs: RunList
    pages: Pages

    @classmethod
    def of(cls, records: Records) -> "_Content":
        every = Findings.of(records)
        found = every.shown
        tables = _tables(found, every.charted)
        return cls(every, found, tables, run_list(found), run_pages(found.lines))


def render(records: Records) -> str:
    """Return the page of some records, without those of the runs."""
    return render_content(_Content.of(records))


def render_content(content: _Content, refresh_seconds: int | None = None) -> str:
    """Return the main page."""
    every, found, tables, runs = content.every, content.found, content.tables, content.runs
    pictures, charts = draw_charts(every, [PICTURE]), draw_charts(every, OTHER_CHARTS)
    of_suites = suite_charts(every.charted)
    drawn = [*pictures, *charts, *(chart for each in of_suites.values() for chart in each)]
    scripts = [*([vega()] if drawn else []), *map(asset, SCRIPTS)]
    scripts += [asset("run_list.js")] if runs.data else []
    page = environment().get_template("page.html")
    return page.render(
        **_facts(found),
        **tables,
        runs=runs,
        refresh_seconds=refresh_seconds,
        filters=_filters(found.lines),
        pictures=pictures,
        charts=charts,
        suite_charts=of_suites,
        specifications={chart.name: chart.spec for chart in drawn},
        gallery=_gallery(),
        samples=_samples(),
        unreadable=sorted(found.records.unreadable.items())[:MOST_NAMED],
        num_unreadable=len(found.records.unreadable),
        num_sessions=len(found.costs),
        num_results=len(every.scores.scores),
        num_results_shown=len(found.scores.scores),
        sections=_sections(found, pictures, charts, tables),
        shown=NUM_OPEN,
        matters=MATTERS,
        compare=COMPARE,
        scripts=[Markup(script) for script in scripts],
        policy=policy(scripts),
    )


def _tables(found: Findings, charted: Findings) -> dict[str, object]:
    """Make the tables of every section."""
    session, suites = beside_session(found), suite_views(found, charted)
    return {
        "choices": choice_answers(found)[:MOST_SESSIONS],
        "answer": records_answer(found),
        "suites": suites,
        "untried": untried(suites),
        "failures": failure_tables(found),
        "tuning": tuning_tables(found)[:MOST_SESSIONS],
        "sessions": _sessions(found),
        "families": family_table(found.families),
        "beside_scores": beside_scores(found),
        "anchors": anchor_tables(found),
        "beside_costs": beside_costs(session) if session else [],
        "beside_session": session,
        "published": published_tables(found),
    }


def _sessions(found: Findings) -> list[tuple[CostTable, list[Table]]]:
    """Make the tables of every session, the counts at its longest length alone."""
    groups = [
        [
            *(table for make in COSTS if (table := make(session))),
            *session_counts(session)[-1:],
        ]
        for session in found.costs[:MOST_SESSIONS]
    ]
    named = iter(distinct(table for tables in groups for table in tables))
    return [
        (session, [next(named) for _ in tables])
        for session, tables in zip(found.costs, groups, strict=False)
    ]


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
    rows = {*found.scores.rows, *(row for table in found.costs for row in table.rows)}
    return {
        "is_empty": not found.every,
        "num_runs": len(found.records.runs),
        "num_mechanisms": len({row.mixer for row in rows}),
        "num_measurements": len(found.records.measurements),
        "latest": day(max((record.finished_at for record in found.every), default="")),
        "machines": sorted({machine_line(record.machine) for record in found.every}),
        "version": version("longarena"),
    }


def _filters(lines: list[RunLine]) -> dict[str, Choices]:
    """List what runs can be chosen by."""
    recipes = [line.record.recipe for line in lines]
    families = {recipe.model.card.family for recipe in recipes}
    return {
        "preset": [(name, name) for name in sorted({recipe.preset for recipe in recipes})],
        "task": [
            (name, formatting.task_title(name))
            for name in sorted({each.task.name for each in recipes})
        ],
        "family": [(family, family) for family in sorted(families)],
    }


def _sections(
    found: Findings, pictures: list[Chart], charts: list[Chart], tables: Mapping[str, object]
) -> list[tuple[str, str]]:
    """List the sections that this page has, by their ids."""
    every = {
        ("answer", "The answer"): found.every,
        ("picture", "Scores against speed"): pictures,
        ("leaderboard", "Leaderboard"): found.lines,
        ("tuning", "Tuning"): tables["tuning"],
        ("costs", "Speed and memory"): found.costs,
        ("charts", "Charts"): charts,
        ("families", "Families"): True,
        ("beside", "Beside the papers"): any(
            tables[name] for name in ("beside_scores", "anchors", "beside_costs")
        ),
        ("published", "Published numbers"): True,
        ("runs", "Runs"): found.records.runs,
        ("gallery", "Attention patterns"): True,
        ("tasks", "Tasks"): True,
        ("unreadable", "Unreadable records"): found.records.unreadable,
    }
    return [section for section, is_there in every.items() if is_there]

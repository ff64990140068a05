"""A page per run: command, advice, curve, confusion matrix or translations, machine, recipe.

Choice: no script and no chart library: a run's page is some kilobytes.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from longarena.data.files import write_atomically
from longarena.findings.advice import advise
from longarena.findings.changes import changes as changes_of
from longarena.findings.changes import command, write
from longarena.findings.details import conditions, other_levels, scoring, translations
from longarena.findings.scores import group, place_of
from longarena.records.record import FailureRecord, RunRecord
from longarena.records.summary import whole
from longarena.report.links import RunLine
from longarena.report.page.curve import Drawing, draw_curve
from longarena.report.page.environment import environment, policy

Pages = Mapping[str, str]
WholeRun = RunRecord | FailureRecord

_CONFUSION = TypeAdapter(list[list[int]])


@dataclass(frozen=True)
class Confusion:
    """How often each class got each answer: counts, and their shares of the class."""

    counts: list[list[int]]
    shares: list[list[float]]


def run_pages(lines: Sequence[RunLine]) -> Pages:
    """Make the page of every run, by its place."""
    seeds = siblings(lines)
    return {line.href: render_run(line, seeds) for line in lines}


def write_run_pages(pages: Pages, out: Path) -> None:
    """Write every page that is missing or out of date."""
    for href, text in pages.items():
        path = out / href
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            write_atomically(path, text)


def write_run_page(line: RunLine, lines: Sequence[RunLine], out: Path) -> Path:
    """Write the page of one run; it leads to those of other seeds that are there already."""
    alike = [
        each
        for each in lines
        if (each.record.task_name, each.record.mixer) == (line.record.task_name, line.record.mixer)
        if each is line or (out / each.href).is_file()
    ]
    write_run_pages({line.href: render_run(line, siblings(alike))}, out)
    return out / line.href


def siblings(lines: Sequence[RunLine]) -> dict[str, list[RunLine]]:
    """List the seeds of every result by the page of each of its runs."""
    places = [
        (place_of(line.record), line)
        for line in lines
        if not isinstance(line.record, FailureRecord)
    ]
    groups = group(places, lambda pair: pair[0]).values()
    ordered = [
        sorted((line for _, line in found), key=lambda line: line.record.recipe.seed)
        for found in groups
    ]
    return {line.href: found for found in ordered for line in found}


def render_run(line: RunLine, seeds: Mapping[str, list[RunLine]]) -> str:
    """Return the page of one run."""
    record = line.record if isinstance(line.record, FailureRecord) else whole(line.record)
    found = changes_of(record.recipe)
    return (
        environment()
        .get_template("run.html")
        .render(
            record=record,
            href=line.href,
            seeds=seeds.get(line.href, []),
            command=command(record.recipe, record.machine),
            changes=write(found.changed) if found else None,
            recipe=json.dumps(record.recipe.model_dump(mode="json"), indent=2),
            advice=advise(record) if isinstance(record, RunRecord) else [],
            curve=_curve(record),
            confusion=_confusion(record),
            conditions=conditions(record) if isinstance(record, RunRecord) else [],
            levels=other_levels(record) if isinstance(record, RunRecord) else {},
            scoring=scoring(record) if isinstance(record, RunRecord) else [],
            translations=translations(record) if isinstance(record, RunRecord) else [],
            policy=policy([]),
        )
    )


def _curve(record: WholeRun) -> Drawing | None:
    if isinstance(record, FailureRecord):
        return None
    return draw_curve(
        record.curve.steps,
        [record.metric.scaled(value) for value in record.curve.values],
        record.metric.scaled(record.metrics.level),
        record.curve.seconds,
    )


def _confusion(record: WholeRun) -> Confusion | None:
    if isinstance(record, FailureRecord) or "confusion" not in record.metrics.details:
        return None
    try:
        counts = _CONFUSION.validate_python(record.metrics.details["confusion"])
    except ValidationError:  # a record says what it likes
        return None
    shares = [[count / (sum(row) or 1) for count in row] for row in counts]
    return Confusion(counts, shares)

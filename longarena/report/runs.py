"""A page per run: recipe, curve, confusion matrix, machine, versions, the command that repeats it.

Choice: a run's file is named by its id. A record comes from anywhere, so an id that is no plain
        word is replaced by its digest, and a second run of the same id gets a number.
Choice: no script and no chart library: a run's page is some kilobytes.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from longarena.data.files import write_atomically
from longarena.report.environment import environment, policy
from longarena.report.sketch import Drawing, draw_curve
from longarena.store.changes import changes as changes_of
from longarena.store.changes import command, write
from longarena.store.record import FailureRecord, RunRecord
from longarena.store.tables import group, place_of

FOLDER = "runs"
PLAIN = re.compile(r"[A-Za-z0-9_-]{1,64}")

AnyRun = RunRecord | FailureRecord


@dataclass(frozen=True)
class Confusion:
    """How often each class was called what: counts, and their shares of the class."""

    counts: list[list[int]]
    shares: list[list[float]]


@dataclass(frozen=True)
class RunLine:
    """A run and the place of its page."""

    record: AnyRun
    href: str


def run_lines(records: Iterable[AnyRun]) -> list[RunLine]:
    """Give every run a page of its own."""
    used: set[str] = set()
    lines = []
    for record in records:
        stem = record.id if PLAIN.fullmatch(record.id) else _digest(record.id)
        name, number = stem, 1
        while name.casefold() in used:
            number += 1
            name = f"{stem}-{number}"
        used.add(name.casefold())
        lines.append(RunLine(record, f"{FOLDER}/{name}.html"))
    return lines


def write_run_pages(lines: Sequence[RunLine], out: Path) -> None:
    """Write the page of every run that has none yet, or another one."""
    seeds = siblings(lines)
    for line in lines:
        path, text = out / line.href, render_run(line, seeds)
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            write_atomically(path, text)


def siblings(lines: Sequence[RunLine]) -> dict[str, list[RunLine]]:
    """List the seeds of every result by the page of each of its runs."""
    places = [(place_of(line.record), line) for line in lines if isinstance(line.record, RunRecord)]
    groups = group(places, lambda pair: pair[0]).values()
    ordered = [
        sorted((line for _, line in found), key=lambda line: line.record.recipe.seed)
        for found in groups
    ]
    return {line.href: found for found in ordered for line in found}


def render_run(line: RunLine, seeds: Mapping[str, list[RunLine]]) -> str:
    """Return the page of one run."""
    record = line.record
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
            curve=_curve(record),
            confusion=_confusion(record),
            policy=policy([]),
        )
    )


def _curve(record: AnyRun) -> Drawing | None:
    if isinstance(record, FailureRecord):
        return None
    return draw_curve(record.curve.steps, record.curve.valid_accuracy, record.metrics.majority)


def _confusion(record: AnyRun) -> Confusion | None:
    if isinstance(record, FailureRecord) or not record.metrics.confusion:
        return None
    counts = record.metrics.confusion
    shares = [[count / (sum(row) or 1) for count in row] for row in counts]
    return Confusion(counts, shares)


def _digest(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()[:16]

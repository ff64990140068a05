"""Where the page of every run lies: a file beside the main page, named by the run's id.

Choice: records come from anywhere. An id that is not a plain word is replaced by its digest, and a
        second run of the same id gets a number.
"""

import hashlib
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from longarena.records.record import FailureRecord
from longarena.records.summary import Run

FOLDER = "runs"
# up to so many runs have a page each; of more, those behind the results that are shown, and the
# newest, have one
MOST_PAGES = 1000
NUM_NEWEST = 200
PLAIN = re.compile(r"[A-Za-z0-9_-]{1,64}")

AnyRun = Run | FailureRecord


@dataclass(frozen=True)
class RunLine:
    """A run and the place of its page."""

    record: AnyRun
    href: str


def chosen_lines(lines: Sequence[RunLine], wanted: Collection[int]) -> list[RunLine]:
    """Choose those of very many runs that get a page: whose `id()` is wanted, and the newest."""
    ordered = sorted(lines, key=lambda line: line.record.finished_at, reverse=True)
    newest = {id(line.record) for line in ordered[:NUM_NEWEST]}
    return [line for line in lines if id(line.record) in newest or id(line.record) in wanted]


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


def _digest(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()[:16]

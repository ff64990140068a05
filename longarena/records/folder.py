"""A folder of records: runs under task/mixer/, the others under their kind: measure/, span/.

The record of a failure is kept where that of a success will be, which replaces it. A file that
cannot be read is named and left out; the others are read all the same.
"""

import gc
import json
import math
import re
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from pydantic import Field, RootModel, ValidationError

from longarena.data.files import write_atomically
from longarena.recipes.recipe import Recipe
from longarena.records.answers import Answers, answers_path, read_answers, write_answers
from longarena.records.record import (
    FailureRecord,
    GenerationRecord,
    MeasureRecord,
    Record,
    RunRecord,
    SpanRecord,
)
from longarena.records.tuning import TuningRecord

# as many digits as always fit into 64 bits
MAX_DIGITS = 18
MAX_REASON = 200
SUSPECT = re.compile(r"[0-9](?:[0-9]{17}|[eE]\+?[0-9]{3})")


class _AnyRecord(RootModel[Annotated[Record, Field(discriminator="kind")]]):
    """Any kind of record, told apart by its `kind`."""


@dataclass(frozen=True)
class Records:
    """What a folder holds, and the files in it that are not records."""

    runs: list[RunRecord] = field(default_factory=list)
    measurements: list[MeasureRecord] = field(default_factory=list)
    unreadable: dict[Path, str] = field(default_factory=dict)
    spans: list[SpanRecord] = field(default_factory=list)
    failures: list[FailureRecord] = field(default_factory=list)
    tunings: list[TuningRecord] = field(default_factory=list)
    generations: list[GenerationRecord] = field(default_factory=list)
    # where the answers of runs are, by their digest
    answers: dict[str, Path] = field(default_factory=dict)

    def answers_of(self, record: RunRecord) -> Answers | None:
        """Read the answers of a run; None if they are not there, or are not what they were."""
        path = self.answers.get(record.answers or "")
        try:
            found = read_answers(path) if path else None
        except (OSError, ValueError):
            return None
        return found if found and found.digest == record.answers else None

    def add(self, record: Record) -> None:
        """Add a record to the list of its kind."""
        match record:
            case RunRecord():
                self.runs.append(record)
            case FailureRecord():
                self.failures.append(record)
            case MeasureRecord():
                self.measurements.append(record)
            case GenerationRecord():
                self.generations.append(record)
            case SpanRecord():
                self.spans.append(record)
            case TuningRecord():
                self.tunings.append(record)


def record_path(store: Path, record: Record) -> Path:
    """Return where a record is kept; whatever its name, that is inside the folder."""
    if isinstance(record, MeasureRecord | GenerationRecord):
        parts = [record.kind, record.model.mixer]
    elif isinstance(record, SpanRecord):
        parts = ["span", record.recipe.model.mixer]
    elif isinstance(record, TuningRecord):
        parts = ["tuning", record.recipe.model.mixer]
    else:
        parts = [record.recipe.task.name, record.recipe.model.mixer]
    return store.joinpath(*map(_plain, parts), f"{_plain(record.id)}.json")


def _plain(name: str) -> str:
    """Write a name so that it is one part of a path.

    >>> _plain("mine.mixers:Mixer"), _plain("../../x")
    ('mine.mixers.Mixer', 'x')
    """
    return re.sub(r"[^\w.-]", ".", name, flags=re.ASCII).lstrip(".") or "unnamed"


def find_run_record(store: Path, recipe: Recipe) -> RunRecord | FailureRecord | None:
    """Read the record of a recipe's run; None if there is none, or the file is not a record."""
    folder = store / _plain(recipe.task.name) / _plain(recipe.model.mixer)
    try:
        record = read_record(folder / f"{recipe.id}.json")
    except (OSError, ValueError):
        return None
    return record if isinstance(record, RunRecord | FailureRecord) else None


def find_tuning_record(store: Path, mixer: str, name: str) -> TuningRecord | None:
    """Read the record of a tuning; None if there is none, or the file is not a record."""
    try:
        record = read_record(store / "tuning" / _plain(mixer) / f"{name}.json")
    except (OSError, ValueError):
        return None
    return record if isinstance(record, TuningRecord) else None


def write_record(store: Path, record: Record, answers: Answers | None = None) -> Path:
    """Add a record to the folder, with the answers that belong to it."""
    path = record_path(store, record)
    if answers is not None:
        write_answers(answers_path(path), answers)
    write_atomically(path, record.model_dump_json(indent=2) + "\n")
    return path


def read_record(path: Path) -> Record:
    """Read one record; raise ValueError if the file is not one."""
    if not path.is_file():
        raise ValueError("this is not a file")
    text = path.read_text(encoding="utf-8")
    record = _AnyRecord.model_validate_json(text).root
    # nothing can be computed with such numbers; most files have none, so the check is rare
    if SUSPECT.search(text) or "NaN" in text or "Infinity" in text:
        json.loads(text, parse_int=_count, parse_float=_finite, parse_constant=_finite)
    return record


def _count(text: str) -> int:
    if len(text) >= MAX_DIGITS:
        raise ValueError(f"a number of {len(text)} digits")
    return int(text)


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text} is not a finite number")
    return value


def read_records(store: Path) -> Records:
    """Read every record under a folder, in the order of their paths."""
    found = Records()
    with _no_collection():
        for path in sorted(store.rglob("*.json")):
            try:
                record = read_record(path)
            except (OSError, ValueError) as error:
                found.unreadable[path] = reason(error)
                continue
            found.add(record)
            if isinstance(record, RunRecord) and record.answers and answers_path(path).is_file():
                found.answers[record.answers] = answers_path(path)
    return found


@contextmanager
def _no_collection() -> Iterator[None]:
    """Pause garbage collection: all new objects stay, and looking at them took 3/4 of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def reason(error: Exception) -> str:
    """Say in one short line why a file is not a record; the file may contain anything."""
    text = str(error)
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_input=False)[0]
        text = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    elif isinstance(error, OSError):
        text = error.strerror or text
    printable = "".join(c if c.isprintable() else " " for c in text)
    return textwrap.shorten(printable, MAX_REASON, placeholder=" ...") or type(error).__name__

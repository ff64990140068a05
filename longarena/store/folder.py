"""A folder of records: runs under task/mixer/, the others under measure/ and span/.

A run that failed lies where its record will lie, and is replaced by it.
A file that cannot be read is named and left out; it never keeps the others from being read.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from pydantic import Field, RootModel, ValidationError

from longarena.data.files import write_atomically
from longarena.recipes.recipe import Recipe
from longarena.store.record import FailureRecord, MeasureRecord, Record, RunRecord, SpanRecord


class _AnyRecord(RootModel[Annotated[Record, Field(discriminator="kind")]]):
    """Any kind of record, told apart by its `kind`."""


@dataclass(frozen=True)
class Records:
    """What a folder holds, and the files in it that are no records."""

    runs: list[RunRecord] = field(default_factory=list)
    measurements: list[MeasureRecord] = field(default_factory=list)
    unreadable: dict[Path, str] = field(default_factory=dict)
    spans: list[SpanRecord] = field(default_factory=list)
    failures: list[FailureRecord] = field(default_factory=list)


def record_path(store: Path, record: Record) -> Path:
    """Return where a record is kept."""
    if isinstance(record, MeasureRecord):
        return store / "measure" / record.model.mixer.replace(":", ".") / f"{record.id}.json"
    mixer = record.recipe.model.mixer.replace(":", ".")
    if isinstance(record, SpanRecord):
        return store / "span" / mixer / f"{record.id}.json"
    return store / record.recipe.task.name / mixer / f"{record.id}.json"


def find_run_record(store: Path, recipe: Recipe) -> RunRecord | FailureRecord | None:
    """Read what the store has of a recipe's run; a file that is no record counts as nothing."""
    mixer = recipe.model.mixer.replace(":", ".")
    try:
        record = read_record(store / recipe.task.name / mixer / f"{recipe.id}.json")
    except (OSError, ValueError):
        return None
    return record if isinstance(record, RunRecord | FailureRecord) else None


def write_record(store: Path, record: Record) -> Path:
    """Add a record to the store."""
    path = record_path(store, record)
    write_atomically(path, record.model_dump_json(indent=2) + "\n")
    return path


def read_record(path: Path) -> Record:
    """Read one record; raise ValueError if it is none."""
    return _AnyRecord.model_validate_json(path.read_text()).root


def read_records(store: Path) -> Records:
    """Read every record under a folder, in the order of their paths."""
    found = Records()
    for path in sorted(store.rglob("*.json")):
        try:
            record = read_record(path)
        except (OSError, ValueError) as error:
            found.unreadable[path] = _first_line(error)
            continue
        if isinstance(record, RunRecord):
            found.runs.append(record)
        elif isinstance(record, FailureRecord):
            found.failures.append(record)
        elif isinstance(record, SpanRecord):
            found.spans.append(record)
        else:
            found.measurements.append(record)
    return found


def _first_line(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    return str(error).splitlines()[0]

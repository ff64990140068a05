"""A folder of records: runs under task/mixer/, the others under their kind: measure/, span/.

A file that cannot be read is named and left out; the others are read all the same. No record that
is there is overwritten or lost:

    the same record            is kept once
    the same run, run again    both are kept, the second as <id>-<digest>.json
    a failure                  stays until a success, or a later failure, takes its place

One process writes at a time, and a file is created only where there is none. What was written is
read back before anybody is told so.

Choice: where a seed was run twice, tables count only the later run (`findings/scores.py`), so both
        records can be kept.
"""

import hashlib
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from longarena.data.files import create, waiting, write_atomically
from longarena.errors import UserError
from longarena.progress import SILENT, Progress
from longarena.recipes.recipe import Recipe
from longarena.records.answers import Answers, answers_path, pack, read_answers
from longarena.records.choice import ChoiceRecord
from longarena.records.entries import Unreadable
from longarena.records.index import read_contents
from longarena.records.parsing import parse_record, read_text, reason
from longarena.records.record import (
    FailureRecord,
    GenerationRecord,
    MeasureRecord,
    Record,
    RunRecord,
    SpanRecord,
)
from longarena.records.scan import record_files
from longarena.records.summary import Run, RunSummary
from longarena.records.tuning import TuningRecord
from longarena.runtime import no_collection

LOCK = ".lock"
# a folder of up to so many files is read whole each time, in less than a second
SMALL = 1000


@dataclass(frozen=True)
class Records:
    """What a folder holds, and the files in it that are not records."""

    runs: list[Run] = field(default_factory=list)
    measurements: list[MeasureRecord] = field(default_factory=list)
    unreadable: dict[Path, str] = field(default_factory=dict)
    spans: list[SpanRecord] = field(default_factory=list)
    failures: list[FailureRecord] = field(default_factory=list)
    tunings: list[TuningRecord] = field(default_factory=list)
    generations: list[GenerationRecord] = field(default_factory=list)
    choices: list[ChoiceRecord] = field(default_factory=list)
    # the records beside which the answers of runs lie, by the digest of the answers
    answers: dict[str, str] = field(default_factory=dict)

    def answers_of(self, record: Run) -> Answers | None:
        """Read the answers of a run; None if they are not there, or are not what they were."""
        path = self.answers.get(record.answers or "")
        try:
            found = read_answers(answers_path(Path(path))) if path else None
        except (OSError, ValueError):
            return None
        return found if found and found.digest == record.answers else None

    def add(self, record: Record | RunSummary) -> None:
        """Add a record to the list of its kind."""
        match record:
            case RunRecord() | RunSummary():
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
            case ChoiceRecord():
                self.choices.append(record)


def record_path(store: Path, record: Record) -> Path:
    """Return where a record is kept; whatever its name, that is inside the folder."""
    if isinstance(record, MeasureRecord | GenerationRecord):
        parts = [record.kind, record.model.mixer]
    elif isinstance(record, SpanRecord):
        parts = ["span", record.recipe.model.mixer]
    elif isinstance(record, TuningRecord):
        parts = ["tuning", record.recipe.model.mixer]
    elif isinstance(record, ChoiceRecord):
        parts = ["choice", record.task.name]
    else:
        parts = [record.recipe.task.name, record.recipe.model.mixer]
    return store.joinpath(*map(plain, parts), f"{plain(record.id)}.json")


def plain(name: str) -> str:
    """Write a name so that it is one part of a path.

    >>> plain("mine.mixers:Mixer"), plain("../../x")
    ('mine.mixers.Mixer', 'x')
    """
    return re.sub(r"[^\w.-]", ".", name, flags=re.ASCII).lstrip(".") or "unnamed"


def find_run_record(store: Path, recipe: Recipe) -> RunRecord | FailureRecord | None:
    """Read the record of a recipe's run, rather of a success; None if there is none.

    A file that is not a record, or says to be of another recipe, does not count.
    """
    folder = store / plain(recipe.task.name) / plain(recipe.model.mixer)
    paths = [folder / f"{recipe.id}.json", *sorted(folder.glob(f"{recipe.id}-*.json"))]
    found = [record for path in paths if (record := _record_of(path, recipe)) is not None]
    ended = [record for record in found if isinstance(record, RunRecord)]
    return next(iter([*ended, *found]), None)


def _record_of(path: Path, recipe: Recipe) -> RunRecord | FailureRecord | None:
    record = read_if_record(path)
    if not isinstance(record, RunRecord | FailureRecord) or record.is_mislabelled:
        return None
    return record if record.id == recipe.id else None


def find_tuning_record(store: Path, mixer: str, name: str) -> TuningRecord | None:
    """Read the record of a tuning; None if there is none, or the file is not a record."""
    record = read_if_record(store / "tuning" / plain(mixer) / f"{name}.json")
    return record if isinstance(record, TuningRecord) and record.id == name else None


def read_if_record(path: Path) -> Record | None:
    """Read one record; None if the file is not one."""
    try:
        return read_record(path)
    except (OSError, ValueError):
        return None


def find_choice_record(store: Path, task: str, name: str) -> ChoiceRecord | None:
    """Read the record of a choice; None if there is none, or the file is not a record."""
    record = read_if_record(store / "choice" / plain(task) / f"{name}.json")
    return record if isinstance(record, ChoiceRecord) and record.id == name else None


def read_record(path: Path) -> Record:
    """Read one record; raise ValueError if the file is not one."""
    return parse_record(read_text(path))


def read_records(store: Path, progress: Progress = SILENT, *, is_thorough: bool = False) -> Records:
    """Read every record under a folder, in the order of their paths.

    Of a large folder, runs are summed up, and an index says what is in files that have not changed;
    if it `is_thorough`, these are read all the same.
    """
    files, found = record_files(store), Records()
    with no_collection():
        if len(files) > SMALL:
            contents = read_contents(store, files, progress, is_thorough=is_thorough)
        else:
            contents = [_read(store / file.name) for file in files]
        for file, content in zip(files, contents, strict=True):
            if isinstance(content, Unreadable):
                found.unreadable[store / file.name] = content.reason
                continue
            found.add(content)
            if file.has_answers and isinstance(content, RunRecord | RunSummary) and content.answers:
                found.answers[content.answers] = f"{store}{os.sep}{file.name}"
    return found


def _read(path: Path) -> Record | Unreadable:
    try:
        return read_record(path)
    except (OSError, ValueError) as error:
        return Unreadable(reason(error))


@dataclass(frozen=True)
class Added:
    """Where a record is kept, and whether it is new there, beside another run, or known."""

    path: Path
    how: Literal["added", "beside", "known"]


def write_record(store: Path, record: Record, answers: Answers | None = None) -> Path:
    """Add a record to the folder, with the answers that belong to it."""
    text = record.model_dump_json(indent=2) + "\n"
    return add(store, record, text, pack(answers) if answers else None).path


def add(store: Path, record: Record, text: str, answers: bytes | None = None) -> Added:
    """Add a record, given as its text too, and the file of the answers that belong to it."""
    check_text(text, record)
    with waiting(store / LOCK):
        added = _place(store, record)
        if added.how == "known":
            return added
        is_replaced = added.path.exists()
        if answers is not None:
            write_atomically(answers_path(added.path), answers)
        if is_replaced:
            write_atomically(added.path, text)
        elif not create(added.path, text):
            raise UserError(f"{added.path} was written by somebody else; try again")
        if added.path.read_bytes() != text.encode():
            raise UserError(f"{added.path} is not what was written to it; check the disk")
    return added


def check_text(text: str, record: Record) -> None:
    """Refuse a record that could not be read back."""
    try:
        is_same = parse_record(text) == record
    except ValueError as error:
        raise UserError(f"the record {record.id} could not be read back: {reason(error)}") from None
    if not is_same:
        raise UserError(f"the record {record.id} would be read back as another")


def _place(store: Path, record: Record) -> Added:
    """Find the place of a record among those that are there."""
    target = record_path(store, record)
    there = read_if_record(target)
    if there == record or _is_settled(record, there):
        return Added(target, "known")
    is_failure = isinstance(there, FailureRecord) and there.id == record.id
    if is_failure or not target.exists():
        return Added(target, "added")
    digest = hashlib.sha256(record.model_dump_json().encode()).hexdigest()[:8]
    beside = target.with_name(f"{target.stem}-{digest}.json")
    return Added(beside, "known" if beside.exists() else "beside")


def _is_settled(record: Record, there: Record | None) -> bool:
    """Tell whether a failure adds nothing to what is known about its run."""
    if not isinstance(record, FailureRecord) or there is None:
        return False
    return not isinstance(there, FailureRecord) or record.finished_at < there.finished_at

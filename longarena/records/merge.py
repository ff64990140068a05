"""Merge the records of several people; no existing record is overwritten or lost.

    the same record            is kept once
    the same run, run again    both are kept, the second as <id>-<digest>.json
    a failure, and a success   the success stays

Choice: where a seed was run twice, tables count only the later run (`findings/scores.py`), so both
        records can be kept.
"""

import hashlib
from dataclasses import dataclass, field
from pathlib import Path

from longarena.data.files import write_atomically
from longarena.records.answers import answers_path
from longarena.records.folder import read_record, reason, record_path
from longarena.records.record import FailureRecord, Record


@dataclass
class Merged:
    """What became of every file: added, kept beside another run, known already, or unreadable."""

    added: list[Path] = field(default_factory=list)
    beside: list[Path] = field(default_factory=list)
    known: list[Path] = field(default_factory=list)
    unreadable: dict[Path, str] = field(default_factory=dict)


def merge(source: Path, store: Path) -> Merged:
    """Add the records of one folder to another."""
    merged = Merged()
    for path in sorted(source.rglob("*.json")):
        try:
            record = read_record(path)
        except (OSError, ValueError) as error:
            merged.unreadable[path] = reason(error)
            continue
        _add(path, record, store, merged)
    return merged


def _add(path: Path, record: Record, store: Path, merged: Merged) -> None:
    target = record_path(store, record)
    there = _read(target)
    if there == record or _is_settled(record, there):
        merged.known.append(target)
    elif not target.exists() or (isinstance(there, FailureRecord) and there.id == record.id):
        _copy(path, target)
        merged.added.append(target)
    else:
        digest = hashlib.sha256(record.model_dump_json().encode()).hexdigest()[:8]
        beside = target.with_name(f"{target.stem}-{digest}.json")
        (merged.known if beside.exists() else merged.beside).append(beside)
        if not beside.exists():
            _copy(path, beside)


def _copy(path: Path, target: Path) -> None:
    """Copy a record and the answers beside it; the answers come first."""
    if answers_path(path).is_file():
        write_atomically(answers_path(target), answers_path(path).read_bytes())
    write_atomically(target, path.read_bytes())


def _is_settled(record: Record, there: Record | None) -> bool:
    """Tell whether a failure adds nothing to what is known about its run."""
    return isinstance(record, FailureRecord) and there is not None


def _read(path: Path) -> Record | None:
    try:
        return read_record(path)
    except (OSError, ValueError):
        return None

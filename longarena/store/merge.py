"""Unite the records of several people; nothing that is there is overwritten or lost.

    the same record            is there already
    the same run, run again    both are kept, the second as <id>-<digest>.json
    a failure, and a success   the success stays

Choice: tables count a seed that was run twice once, the later run (tables.py), so keeping both
        changes no mean twice and loses no number.
"""

import hashlib
from dataclasses import dataclass, field
from pathlib import Path

from longarena.data.files import write_atomically
from longarena.store.folder import read_record, reason, record_path
from longarena.store.record import FailureRecord, Record


@dataclass
class Merged:
    """What came of every file: new ones, runs kept beside another, known ones, unreadable ones."""

    added: list[Path] = field(default_factory=list)
    beside: list[Path] = field(default_factory=list)
    known: list[Path] = field(default_factory=list)
    unreadable: dict[Path, str] = field(default_factory=dict)


def merge(source: Path, store: Path) -> Merged:
    """Add the records of a folder to a store."""
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
        write_atomically(target, path.read_bytes())
        merged.added.append(target)
    else:
        digest = hashlib.sha256(record.model_dump_json().encode()).hexdigest()[:8]
        beside = target.with_name(f"{target.stem}-{digest}.json")
        (merged.known if beside.exists() else merged.beside).append(beside)
        if not beside.exists():
            write_atomically(beside, path.read_bytes())


def _is_settled(record: Record, there: Record | None) -> bool:
    """Tell whether the store knows as much or more of a run that failed."""
    return isinstance(record, FailureRecord) and there is not None


def _read(path: Path) -> Record | None:
    try:
        return read_record(path)
    except (OSError, ValueError):
        return None

"""Merge the records of several people, by the rules of `folder.py`.

A link that leads out of the folder is not followed, and answers are taken only if they are those of
their record: a folder that somebody sent must not bring other files along.
"""

from dataclasses import dataclass, field
from pathlib import Path

from longarena.data.files import is_inside
from longarena.records.answers import answers_path, pack, read_answers
from longarena.records.folder import add
from longarena.records.parsing import parse_record, read_text, reason
from longarena.records.record import Record, RunRecord


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
    lists = {"added": merged.added, "beside": merged.beside, "known": merged.known}
    for path in sorted(source.rglob("*.json")):
        try:
            if not is_inside(path, source):
                raise ValueError("it is a link to a file elsewhere")
            text = read_text(path)
            record = parse_record(text)
        except (OSError, ValueError) as error:
            merged.unreadable[path] = reason(error)
            continue
        added = add(store, record, text, _answers(path, record, source))
        lists[added.how].append(added.path)
    return merged


def _answers(path: Path, record: Record, source: Path) -> bytes | None:
    """Read the answers beside a record if they are its own."""
    beside = answers_path(path)
    if not isinstance(record, RunRecord) or not is_inside(beside, source):
        return None
    try:
        found = read_answers(beside)
    except (OSError, ValueError):
        return None
    return pack(found) if found.digest == record.answers else None

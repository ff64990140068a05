"""The files of a folder of records, with what tells whether one has changed since it was read.

Size, times and number of a file are looked at, not its content: 100,000 files in half a second.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from stat import S_ISREG
from typing import NamedTuple

from longarena.records.answers import SUFFIX

RECORD = ".json"


class Stamp(NamedTuple):
    """What differs after a file was written again; the time of the status cannot be set by hand."""

    size: int
    modified_ns: int
    changed_ns: int
    number: int

    @classmethod
    def of(cls, status: os.stat_result) -> "Stamp":
        """Take what the file system says of a file."""
        return cls(status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)


class RecordFile(NamedTuple):
    """A file that may be a record, below its folder; the stamp is None if it is no file at all."""

    name: str
    stamp: Stamp | None
    has_answers: bool = False


def record_files(store: Path) -> list[RecordFile]:
    """List what may be records, in the order of their paths; links to folders are not followed."""
    return list(_files_below(str(store), ""))


def stamp(path: "Path | os.DirEntry[str]") -> Stamp | None:
    """Look at one file; None if it is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return Stamp.of(status) if S_ISREG(status.st_mode) else None


def _files_below(folder: str, prefix: str) -> Iterator[RecordFile]:
    try:
        with os.scandir(folder) as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
    except OSError:  # what may not be read, or is gone meanwhile, holds nothing
        return
    names = {entry.name for entry in entries}
    for entry in entries:
        name = prefix + entry.name
        if entry.name.endswith(RECORD):
            has_answers = entry.name.removesuffix(RECORD) + SUFFIX in names
            yield RecordFile(name, stamp(entry), has_answers)
        if _is_folder(entry):
            yield from _files_below(entry.path, name + os.sep)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False

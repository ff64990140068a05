"""The index of a folder of records: what its files hold, so that few of them have to be read.

The records stay the truth. An entry counts only as long as size, times and number of its file are
those that it had; every other file is read. A file that was written within the last seconds is read
again next time, since a second writing might show in none of these. An index that is damaged, of
another version or cannot be written costs time and changes nothing.

Choice: it lies in the user's cache folder, under a digest of the records' path. So records can lie
        in git, on a read-only disk or on one without locks, and are never mixed with it.
Choice: one file that is replaced whole and needs no lock: of two processes that write it at once,
        the last one wins, and both are right.
"""

import hashlib
import json
import os
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from longarena.data.files import write_atomically
from longarena.progress import SILENT, Progress
from longarena.records.entries import Content, Entry, Shared, Unreadable, read_entry
from longarena.records.index_lines import pack, unpack
from longarena.records.parsing import NO_FILE, form
from longarena.records.scan import RecordFile
from longarena.tasks.base import default_home
from longarena.version import __version__

# raise it where entries are made or written in another way
FORMAT = 1
# reading so many files again takes less time than writing the index
NUM_UNSAVED = 100
# the coarsest file systems count time in steps of two seconds
SETTLED_NS = 2_000_000_000
# an index that was not written for 90 days may be of records that are no more
FORGOTTEN_NS = 90 * 86_400 * 1_000_000_000


def read_contents(
    folder: Path,
    files: Sequence[RecordFile],
    progress: Progress = SILENT,
    *,
    is_thorough: bool = False,
) -> list[Content]:
    """Say what each of some files below a folder holds.

    If it `is_thorough`, every file is read, and the index only knows what the same bytes mean.
    """
    now, known = time.time_ns(), _load(folder)
    stale = [each for each in files if is_thorough or not _is_fresh(each, known)]
    shared = Shared.by(known.values()) if stale else Shared()
    read: dict[str, Entry] = {}
    shown = progress if len(stale) > NUM_UNSAVED else SILENT
    with shown.bar("reading records", len(stale)) as bar:
        for name, stamp, _ in stale:
            if stamp is not None:
                read[name] = read_entry(folder / name, stamp, known.get(name), shared)
            bar.advance()
    found = known | read
    if sum(known.get(name) != entry for name, entry in read.items()) > NUM_UNSAVED:
        _save(folder, {each.name: found[each.name] for each in files if each.name in found}, now)
    return [found[each.name].content if each.stamp else Unreadable(NO_FILE) for each in files]


def index_path(folder: Path) -> Path:
    """Return where the index of a folder is kept."""
    digest = hashlib.sha256(os.fsencode(folder.resolve())).hexdigest()[:16]
    return default_home() / "index" / f"{digest}.jsonl"


def _is_fresh(file: RecordFile, known: Mapping[str, Entry]) -> bool:
    return file.name in known and known[file.name].stamp == file.stamp


def _is_settled(entry: Entry, now: int) -> bool:
    """Tell whether a file was read, and written so long ago that writing it again would show."""
    last = max(entry.stamp.modified_ns, entry.stamp.changed_ns)
    return bool(entry.digest) and now - last > SETTLED_NS


def _load(folder: Path) -> dict[str, Entry]:
    """Read the index; nothing if there is none, or it is not what was written."""
    try:
        with index_path(folder).open("rb") as file:
            head = json.loads(file.readline())
            start = file.tell()
            if head != _head(hashlib.file_digest(file, "sha256").hexdigest()):
                return {}
            file.seek(start)
            return unpack(file, str(folder))
    except (OSError, ValueError):
        return {}


def _save(folder: Path, entries: Mapping[str, Entry], now: int) -> None:
    """Write the index; without a place for it, the next command reads the files again."""
    settled = {name: entry for name, entry in entries.items() if _is_settled(entry, now)}
    body = b"".join(pack(settled))
    head = json.dumps(_head(hashlib.sha256(body).hexdigest())).encode()
    path = index_path(folder)
    with suppress(OSError):
        write_atomically(path, head + b"\n" + body)
        for other in path.parent.glob(f"*{path.suffix}"):
            if now - other.stat().st_mtime_ns > FORGOTTEN_NS:
                other.unlink()


def _head(digest: str) -> dict[str, object]:
    return {"format": FORMAT, "version": __version__, "records": form(), "digest": digest}

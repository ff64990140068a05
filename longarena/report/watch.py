"""Write the page again whenever the records change, for a reader who watches a sweep.

While it is watched the page loads itself again every few seconds; the last one written does not.
"""

import time
from collections.abc import Callable, Generator
from pathlib import Path

from longarena.report.page import write_page
from longarena.store.folder import Records, read_records

POLL_SECONDS = 2.0
REFRESH_SECONDS = 10

# what tells one state of a store from another: the files with their times and sizes
State = dict[Path, tuple[int, int]]


def watch(
    store: Path, out: Path, wait: Callable[[float], object] = time.sleep
) -> Generator[Records, None, None]:
    """Yield the records of every page that was written, until the reader has seen enough."""
    seen: State | None = None
    try:
        while True:
            found = state(store)
            if found != seen:
                records = read_records(store)
                write_page(records, out, REFRESH_SECONDS)
                yield records
                seen = found
            wait(POLL_SECONDS)
    finally:
        write_page(read_records(store), out)


def state(store: Path) -> State:
    """Look at every record's file without reading it; one that vanishes meanwhile is left out."""
    found: State = {}
    for path in store.rglob("*.json"):
        try:
            status = path.stat()
        except FileNotFoundError:
            continue
        found[path] = status.st_mtime_ns, status.st_size
    return found

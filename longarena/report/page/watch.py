"""Write the page again whenever the records change, for a reader who watches a sweep.

Meanwhile the page reloads itself every few seconds; the last one written does not.
"""

import time
from collections.abc import Callable, Generator
from pathlib import Path

from longarena.records.folder import Records, read_records
from longarena.report.page.page import write_page

POLL_SECONDS = 2.0
REFRESH_SECONDS = 10

# one state of a folder of records differs from another in its files, their times or their sizes
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
    """Look at the file of every record without reading it; skip one that vanishes meanwhile."""
    found: State = {}
    for path in store.rglob("*.json"):
        try:
            status = path.stat()
        except FileNotFoundError:
            continue
        found[path] = status.st_mtime_ns, status.st_size
    return found

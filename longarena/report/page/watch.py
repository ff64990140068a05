"""Write the page again whenever the records change, for a reader who watches a sweep.

Meanwhile the page reloads itself every few seconds; the last one written does not.
"""

import time
from collections.abc import Callable, Generator
from pathlib import Path

from longarena.records.folder import Records, read_records
from longarena.records.scan import RecordFile, record_files
from longarena.report.page.page import write_page

POLL_SECONDS = 2.0
REFRESH_SECONDS = 10
# a look at very many files must not take most of the time
PATIENCE = 20


def watch(
    store: Path, out: Path, wait: Callable[[float], object] = time.sleep
) -> Generator[Records, None, None]:
    """Yield the records of every page that was written, until the reader has seen enough."""
    seen: list[RecordFile] | None = None
    try:
        while True:
            started = time.monotonic()
            found = record_files(store)
            looking = time.monotonic() - started
            if found != seen:
                records = read_records(store)
                write_page(records, out, REFRESH_SECONDS)
                yield records
                seen = found
            wait(max(POLL_SECONDS, PATIENCE * looking))
    finally:
        write_page(read_records(store), out)

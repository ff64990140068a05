"""What it means: tables, charts and the page, made of the store alone."""

from pathlib import Path

from longarena.report.page import write_page
from longarena.store.folder import read_records

__all__ = ["report", "write_page"]


def report(store: Path, out: Path) -> Path:
    """Write the page of a store to `out`/index.html and return its path."""
    return write_page(read_records(store), out)

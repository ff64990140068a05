"""What the records mean: tables, charts and the page, made from records alone."""

from pathlib import Path


def report(store: Path, out: Path) -> Path:
    """Write the page of a folder of records to `out`/index.html and return its path."""
    # a table needs neither the page nor its charts, which take a second to import
    from longarena.records.folder import read_records  # noqa: PLC0415
    from longarena.report.page.page import write_page  # noqa: PLC0415

    return write_page(read_records(store), out)

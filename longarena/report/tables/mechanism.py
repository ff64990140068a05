"""The cell that names the mechanism of a row, and the column of such cells."""

from longarena.findings.scores import Row
from longarena.table.table import Cell, Column, Words

MECHANISM = Column("Mechanism", "name")


def mechanism(row: Row, changes: str = "", *, has_family: bool = True) -> Cell:
    """Name a mechanism, with what sets it apart from others of its name."""
    found = row.card
    parts = [
        Words(row.words),
        Words(changes, tone="changes"),
        Words(found.family if has_family else ""),
    ]
    return Cell(
        found.title,
        note=", ".join(filter(None, [row.words, changes])),
        details=tuple((part,) for part in parts if part.text),
    )

"""Rows of a command: cells with a value for programs (`--json`) and words for people."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Cell:
    """A value as JSON has it, and the words that a person reads."""

    value: object
    text: str


Row = Mapping[str, Cell]


def cell(value: object) -> Cell:
    """Make the plain cell of a value.

    >>> [cell(value).text for value in (1234, True, None, "linear")]
    ['1,234', 'yes', '', 'linear']
    """
    if isinstance(value, bool):
        return Cell(value, "yes" if value else "no")
    if isinstance(value, int):
        return Cell(value, f"{value:,}")
    return Cell(value, "" if value is None else str(value))


def values(rows: Sequence[Row]) -> list[dict[str, object]]:
    """Return the rows for a program."""
    return [{key: each.value for key, each in row.items()} for row in rows]


def texts(rows: Sequence[Row]) -> list[list[str]]:
    """Return the rows for a person."""
    return [[each.text for each in row.values()] for row in rows]

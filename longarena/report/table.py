"""A table in memory, before it is written as LaTeX, Markdown or CSV (`writers.py`).

A cell has the text that a reader sees and, where it is a number, the value behind it. The first
column names the rows. Footers (means over mechanisms) stand apart, and never are the best.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Cell:
    """A text, its value and spread in the same unit, and a remark of a word or two."""

    text: str
    value: float | None = None
    spread: float | None = None
    is_best: bool = False
    note: str = ""


Row = tuple[Cell, ...]
EMPTY = Cell("")
MISSING = Cell("\N{EN DASH}")


@dataclass(frozen=True)
class Table:
    """Columns of cells under a title; the note says where the numbers come from."""

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    footers: tuple[Row, ...] = ()
    note: str = ""

    @property
    def lines(self) -> tuple[Row, ...]:
        """Rows and footers."""
        return self.rows + self.footers

    def is_number(self, column: int) -> bool:
        """Tell whether a column holds numbers."""
        return any(row[column].value is not None for row in self.lines)


def mark_best(
    rows: Iterable[Sequence[Cell]], column: int, best: Callable[[Iterable[float]], float] = max
) -> tuple[Row, ...]:
    """Mark the best values of a column; equal values are all best.

    >>> rows = mark_best([(Cell("1", 1.0),), (Cell("3", 3.0),), (Cell("failed"),)], 0)
    >>> [cell.is_best for (cell,) in rows]
    [False, True, False]
    """
    lines = [list(row) for row in rows]
    values = [line[column].value for line in lines]
    limit = best([value for value in values if value is not None] or [0.0])
    for line, value in zip(lines, values, strict=True):
        if value == limit:
            line[column] = replace(line[column], is_best=True)
    return tuple(map(tuple, lines))


def mark_columns(
    rows: Iterable[Sequence[Cell]],
    columns: Iterable[int],
    best: Callable[[Iterable[float]], float] = max,
) -> tuple[Row, ...]:
    """Mark the best values of several columns."""
    marked = tuple(tuple(row) for row in rows)
    for column in columns:
        marked = mark_best(marked, column, best)
    return marked


def slug(text: str) -> str:
    """Make a part of a file name of any text.

    >>> slug("Long ListOps, ../quick"), slug("Nyströmformer")
    ('long-listops-quick', 'nystromformer')
    """
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "-", plain.lower()).strip("-")


def distinct(tables: Iterable[Table]) -> list[Table]:
    """Add a number to the name of a table that an earlier one has already."""
    counts: dict[str, int] = {}
    found = []
    for table in tables:
        counts[table.name] = counts.get(table.name, 0) + 1
        number = counts[table.name]
        found.append(replace(table, name=f"{table.name}-{number}") if number > 1 else table)
    return found

"""A table as a value, which one writer per format turns into text.

    terminal.py, markdown.py, latex.py, csv.py    one function each
    report/page/templates/table.html              the writer of the page

A cell has the text that a reader sees and, where it is a number, the value behind it. Lines of
text have room for a note of a few words in brackets; the page has room for details below the
number, and shows the note where a cell has no details. Footers (means over mechanisms) are kept
apart and are never marked as the best.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

Better = Literal["more", "less"]
# a name or an id heads its row; formulas and remarks are texts that may be broken into lines
Kind = Literal["name", "id", "text", "number", "formula", "remark"]
Tone = Literal["", "failed", "over", "partial", "changes", "tied"]
# what a column is for: an average of others, the first of a group, somebody else's numbers
Role = Literal["", "average", "first", "theirs"]

DASH = "\N{EN DASH}"


@dataclass(frozen=True, slots=True)
class Words:
    """A part of a detail line."""

    text: str
    link: str = ""
    tone: Tone = ""


@dataclass(frozen=True, slots=True)
class Cell:
    """A text, its value and spread in the unit of the text, and what is said about it.

    `mark` says in words why the page marks the number. The page sorts by `order` where it is given,
    and else by the value.
    """

    text: str
    value: float | None = None
    spread: float | None = None
    note: str = ""
    is_best: bool = False
    details: tuple[tuple[Words, ...], ...] = ()
    link: str = ""
    mark: str = ""
    tone: Tone = ""
    order: float | None = None

    @property
    def is_missing(self) -> bool:
        """Whether there is nothing to show."""
        return self.text == DASH

    @property
    def spread_text(self) -> str:
        """The spread with the decimals of the number.

        >>> Cell("34.25", 34.25, 0.5).spread_text, Cell("1,024", 1024.0, 3.0).spread_text
        ('0.50', '3')
        """
        decimals = re.search(r"\.(\d+)", self.text)
        return (
            "" if self.spread is None else f"{self.spread:.{len(decimals[1]) if decimals else 0}f}"
        )

    @property
    def sort_key(self) -> float | str:
        """What a column is sorted by; empty where the cell is not a number."""
        key = self.value if self.order is None else self.order
        return "" if key is None else key

    @property
    def lines(self) -> tuple[tuple[Words, ...], ...]:
        """The lines below the number: its details, or its note where it has none."""
        return self.details or (((Words(self.note),),) if self.note else ())


MISSING = Cell(DASH)
EMPTY = Cell("")


@dataclass(frozen=True)
class Column:
    """What a column holds; `better` says which of its values are the best, if any are.

    `short` names the column in one line where title, unit and details together are too long.
    `filters` are what a reader of the page can choose the column by. A column without `is_on_page`
    is left out there, because another column has it among its details.
    """

    title: str
    kind: Kind = "number"
    unit: str = ""
    details: tuple[str, ...] = ()
    short: str = ""
    better: Better | None = None
    role: Role = ""
    filters: Mapping[str, str] = field(default_factory=dict)
    is_on_page: bool = True

    @property
    def heading(self) -> str:
        """The title with its unit."""
        return f"{self.title}, {self.unit}" if self.unit else self.title

    @property
    def line(self) -> str:
        """The whole name in one line."""
        return self.short or ", ".join([self.heading, *self.details])

    @property
    def is_number(self) -> bool:
        """Whether the cells are numbers, which are aligned to the right."""
        return self.kind == "number"


@dataclass(frozen=True, slots=True)
class Row:
    """A cell per column, and what a reader of the page can choose the row by."""

    cells: tuple[Cell, ...]
    filters: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Table:
    """Columns of cells under a title; the note says where the numbers come from."""

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    footers: tuple[Row, ...] = ()
    note: str = ""

    @property
    def lines(self) -> tuple[Row, ...]:
        """Rows and footers."""
        return self.rows + self.footers

    @property
    def caption(self) -> str:
        """The title and the note."""
        return f"{self.title}. {self.note}".rstrip()

    def cells_of(self, column: int) -> list[Cell]:
        """Return the cells of a column, footers last."""
        return [row.cells[column] for row in self.lines]


def mark_best(table: Table) -> Table:
    """Mark the best values of every column that says which way is better.

    Equal values are all best, unless every value of the column is the same.

    >>> columns = (Column("Speed", better="more"), Column("Memory", better="less"))
    >>> rows = [Row((Cell("1", 1.0), Cell("5", 5.0))), Row((Cell("3", 3.0), Cell("failed")))]
    >>> marked = mark_best(Table("costs", "Costs", columns, tuple(rows)))
    >>> [[cell.is_best for cell in row.cells] for row in marked.rows]
    [[False, True], [True, False]]
    """
    limits = [_limit(table, at) for at in range(len(table.columns))]
    rows = [replace(row, cells=tuple(map(_mark, row.cells, limits))) for row in table.rows]
    return replace(table, rows=tuple(rows))


def _limit(table: Table, column: int) -> float | None:
    better = table.columns[column].better
    values = [row.cells[column].value for row in table.rows]
    known = [value for value in values if value is not None]
    if better is None or not known or (len(known) > 1 and len(set(known)) == 1):
        return None
    return max(known) if better == "more" else min(known)


def _mark(cell: Cell, limit: float | None) -> Cell:
    return replace(cell, is_best=True) if limit is not None and cell.value == limit else cell


def slug(text: str) -> str:
    """Turn any text into a part of a file name.

    >>> slug("Long ListOps, ../quick"), slug("Nyströmformer")
    ('long-listops-quick', 'nystromformer')
    """
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "-", plain.lower()).strip("-")


def distinct(tables: Iterable[Table]) -> list[Table]:
    """Add a number to the name of a table that an earlier one already has."""
    counts: dict[str, int] = {}
    found = []
    for table in tables:
        counts[table.name] = counts.get(table.name, 0) + 1
        number = counts[table.name]
        found.append(replace(table, name=f"{table.name}-{number}") if number > 1 else table)
    return found


def one_line(text: str) -> str:
    r"""Write a text without line breaks and without characters that control a terminal.

    >>> one_line("two\nlines \x1b[31m")
    'two lines [31m'
    """
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())

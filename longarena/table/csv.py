"""Tables as CSV for programs: values in full, with columns for spreads and notes beside them.

The note of a name is part of the name, because without it two rows might have the same name.
"""

import csv
import io

from longarena.table.table import Cell, Column, Table


def write_csv(table: Table) -> str:
    """Write one line per row; numbers are not rounded, and have no thousands separators."""
    columns = [
        values
        for at, column in enumerate(table.columns)
        for values in _columns(column, table.cells_of(at))
    ]
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows(zip(*columns, strict=True))
    return file.getvalue()


def _columns(column: Column, cells: list[Cell]) -> list[list[str]]:
    """Write a column, and beside it the columns of its spreads and notes."""
    if column.kind == "name":
        return [[column.line, *map(_name, cells)]]
    found = [[column.line, *map(_value, cells)]]
    if any(cell.spread is not None for cell in cells):
        found.append([f"{column.line} spread", *map(_spread, cells)])
    if any(cell.note for cell in cells):
        found.append([f"{column.line} note", *(cell.note for cell in cells)])
    return found


def _name(cell: Cell) -> str:
    return f"{cell.text} ({cell.note})" if cell.note else cell.text


def _value(cell: Cell) -> str:
    return cell.text if cell.value is None else repr(cell.value)


def _spread(cell: Cell) -> str:
    return "" if cell.spread is None else repr(cell.spread)

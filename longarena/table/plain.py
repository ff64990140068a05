"""Tables for programs: a dictionary per row, numbers as numbers."""

from longarena.table.table import Cell, Table

Value = float | str | None


def plain(table: Table) -> list[dict[str, Value]]:
    """Return the rows under the names of their columns; what is missing is None."""
    names = [column.line for column in table.columns]
    return [dict(zip(names, map(_value, row.cells), strict=True)) for row in table.rows]


def _value(cell: Cell) -> Value:
    if cell.is_missing:
        return None
    return cell.text if cell.value is None else cell.value

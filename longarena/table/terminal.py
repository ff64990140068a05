"""Tables for the terminal: 34.2 ± 0.5 (note), the best in bold, cut to the width at hand.

    widths = fit(table, console.width)
    console.print(terminal(table, widths))

No word is cut, and names are not even broken at spaces, because users type them again. Where a
terminal is too narrow for all columns, the last ones are left out. Rich gets cells as plain texts,
so that a name from a record cannot style anything.
"""

from collections.abc import Mapping, Sequence

from rich import table as rich_table
from rich.text import Text

from longarena.table.table import Cell, Column, Table, one_line

GAP = 2


def terminal(table: Table, widths: Mapping[int, int]) -> rich_table.Table:
    """Make what rich prints: some columns of a table, with its note below."""
    shown = rich_table.Table(
        title=_text(table.title),
        caption=_text(table.note) if table.note else None,
        title_justify="left",
        caption_justify="left",
        box=None,
        pad_edge=False,
        padding=(0, GAP, 0, 0),
    )
    for at, width in widths.items():
        column = table.columns[at]
        shown.add_column(
            _text(column.line),
            justify="right" if column.is_number else "left",
            width=width,
            no_wrap=_is_name(column),
        )
    for row in table.lines:
        shown.add_row(*(_cell(row.cells[at]) for at in widths))
    return shown


def fit(table: Table, width: int) -> dict[int, int]:
    """Choose the columns that fit, and their widths; names are never left out, nor the first.

    >>> from longarena.table.table import Row
    >>> columns = (Column("mixer", "name"), Column("title", "text"), Column("paper", "text"))
    >>> row = Row((Cell("linear"), Cell("Linear Transformer"), Cell("2006.16236")))
    >>> table = Table("mixers", "Mixers", columns, (row,))
    >>> fit(table, 20), fit(table, 80)
    ({0: 6, 1: 12}, {0: 6, 1: 18, 2: 10})
    """
    texts = [_texts(table, at) for at in range(len(table.columns))]
    least = [_least_width(texts[at], column) for at, column in enumerate(table.columns)]
    kept = list(range(len(texts)))
    droppable = [at for at in kept if at and not _is_name(table.columns[at])]
    while droppable and sum(least[at] + GAP for at in kept) - GAP > width:
        kept.remove(droppable.pop())
    wanted = [max(map(len, words)) for words in texts]
    return _widen({at: least[at] for at in kept}, wanted, width - GAP * (len(kept) - 1))


def _widen(widths: dict[int, int], wanted: Sequence[int], room: int) -> dict[int, int]:
    """Give the room that is left to the columns that need it most."""
    spare = room - sum(widths.values())
    while spare > 0 and (narrow := [at for at in widths if widths[at] < wanted[at]]):
        widths[max(narrow, key=lambda at: wanted[at] / widths[at])] += 1
        spare -= 1
    return widths


def _texts(table: Table, column: int) -> list[str]:
    return [table.columns[column].line, *(_cell(cell).plain for cell in table.cells_of(column))]


def _least_width(texts: Sequence[str], column: Column) -> int:
    """Return the width below which a name or a word would be cut."""
    words = texts if _is_name(column) else [word for text in texts for word in text.split()]
    return max(map(len, words), default=1) or 1


def _is_name(column: Column) -> bool:
    return column.kind in ("name", "id")


def _cell(cell: Cell) -> Text:
    text = _text(cell.text, "bold" if cell.is_best else "")
    if cell.spread is not None:
        text.append(f" ± {cell.spread_text}")
    if cell.note:
        text.append(f" ({one_line(cell.note)})")
    return text


def _text(words: str, style: str = "") -> Text:
    return Text(one_line(words), style)

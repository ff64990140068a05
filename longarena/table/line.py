"""A cell in one line of text, as Markdown and LaTeX write it: 34.2 ± 0.5 (note), best in bold."""

from collections.abc import Callable
from dataclasses import dataclass

from longarena.table.table import Cell


@dataclass(frozen=True)
class Language:
    """What a language needs to write a cell: an escape, a form for bold, and its plus-minus."""

    escape: Callable[[str], str]
    bold: str
    plus_minus: str

    def write(self, cell: Cell) -> str:
        """Write a cell with its spread and its note."""
        text = self.escape(cell.text)
        if cell.spread is not None:
            text += f"{self.plus_minus}{cell.spread_text}"
        text = self.bold % text if cell.is_best else text
        return f"{text} ({self.escape(cell.note)})" if cell.note else text

"""Tables as GitHub's Markdown, with title and note below.

Names come from records, so every character that means something to Markdown is escaped.
"""

from longarena.table.line import Language
from longarena.table.table import Table, one_line

ESCAPES = {letter: f"\\{letter}" for letter in r"\`*_[]|~"} | {
    **{"&": "&amp;", "<": "&lt;", ">": "&gt;"}
}


def escape(text: str) -> str:
    r"""Write a text so that Markdown prints it.

    >>> escape("my_mixer | <b>")
    'my\\_mixer \\| &lt;b&gt;'
    """
    return "".join(ESCAPES.get(letter, letter) for letter in one_line(text))


LANGUAGE = Language(escape, "**%s**", " ± ")


def markdown(table: Table) -> str:
    """Write a table and its caption."""
    lines = [
        [escape(column.line) for column in table.columns],
        ["---:" if column.is_number else "---" for column in table.columns],
        *([LANGUAGE.write(cell) for cell in row.cells] for row in table.lines),
    ]
    text = "".join(f"| {' | '.join(line)} |\n" for line in lines)
    return f"{text}\n{escape(table.caption)}\n"

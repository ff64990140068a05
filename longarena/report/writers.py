"""Tables as text: LaTeX for papers, Markdown for pages, CSV for programs.

    LaTeX, Markdown    34.2 ± 0.5 (note), the best in bold; the spread has the number's decimals
    CSV                the values in full, then a column of spreads and of notes where there are any

Names come from records, so what has a meaning in the language is escaped in each.
"""

import csv
import io
import re
from collections.abc import Callable

from longarena.report.table import Cell, Row, Table

LATEX = {
    **{letter: f"\\{letter}" for letter in "&%$#_{}"},
    **{"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"},
    **{"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"\textquotedbl{}"},
    **{"\N{MULTIPLICATION SIGN}": r"$\times$", "\N{EN DASH}": "--"},
}
MARKDOWN = {letter: f"\\{letter}" for letter in r"\`*_[]|~"} | {
    **{"&": "&amp;", "<": "&lt;", ">": "&gt;"}
}
Escape = Callable[[str], str]


def latex(table: Table) -> str:
    r"""Write a floating table; it needs \usepackage{booktabs}."""
    kinds = "".join("r" if table.is_number(at) else "l" for at in range(len(table.columns)))
    body = [" & ".join(map(escape_latex, table.columns)), *map(_latex_row, table.rows)]
    lines = [f"    {line} \\\\" for line in body]
    lines.insert(1, r"    \midrule")
    if table.footers:
        lines += [r"    \midrule", *(f"    {_latex_row(row)} \\\\" for row in table.footers)]
    return "\n".join(
        [
            r"% needs \usepackage{booktabs}",
            r"\begin{table}",
            r"  \centering",
            f"  \\caption{{{escape_latex(_caption(table))}}}",
            f"  \\label{{tab:{table.name}}}",
            f"  \\begin{{tabular}}{{{kinds}}}",
            r"    \toprule",
            *lines,
            r"    \bottomrule",
            r"  \end{tabular}",
            r"\end{table}",
            "",
        ]
    )


def _latex_row(row: Row) -> str:
    return " & ".join(_write(cell, escape_latex, r"\textbf{%s}", r" $\pm$ ") for cell in row)


def markdown(table: Table) -> str:
    """Write a table of GitHub's Markdown, with its note below."""
    rules = ["---:" if table.is_number(at) else "---" for at in range(len(table.columns))]
    rows = [[_write(cell, escape_markdown, "**%s**", " ± ") for cell in row] for row in table.lines]
    lines = [[escape_markdown(column) for column in table.columns], rules, *rows]
    text = "".join(f"| {' | '.join(line)} |\n" for line in lines)
    return f"{text}\n{escape_markdown(_caption(table))}\n"


def write_csv(table: Table) -> str:
    """Write one line per row; numbers are not rounded, and a comma never parts one in two."""
    spreads = [any(row[at].spread is not None for row in table.lines) for at in _places(table)]
    notes = [any(row[at].note for row in table.lines) for at in _places(table)]
    header: list[str] = []
    lines: list[list[str]] = [[] for _ in table.lines]
    for at, name in enumerate(table.columns):
        parts = [(name, _value)]
        parts += [(f"{name} spread", _spread)] if spreads[at] else []
        parts += [(f"{name} note", _note)] if notes[at] else []
        header += [title for title, _ in parts]
        for line, row in zip(lines, table.lines, strict=True):
            line += [read(row[at]) for _, read in parts]
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows([header, *lines])
    return file.getvalue()


def escape_latex(text: str) -> str:
    r"""Write a text so that TeX prints it.

    >>> escape_latex("my_mixer 50% <b>")
    'my\\_mixer 50\\% \\textless{}b\\textgreater{}'
    """
    return "".join(LATEX.get(letter, letter) for letter in _one_line(text))


def escape_markdown(text: str) -> str:
    r"""Write a text so that Markdown prints it.

    >>> escape_markdown("my_mixer | <b>")
    'my\\_mixer \\| &lt;b&gt;'
    """
    return "".join(MARKDOWN.get(letter, letter) for letter in _one_line(text))


def _write(cell: Cell, escape: Escape, bold: str, plus_minus: str) -> str:
    text = escape(cell.text)
    if cell.spread is not None:
        text += f"{plus_minus}{cell.spread:.{_decimals(cell.text)}f}"
    text = bold % text if cell.is_best else text
    return f"{text} ({escape(cell.note)})" if cell.note else text


def _decimals(text: str) -> int:
    """Count the decimals of a number.

    >>> _decimals("34.25"), _decimals("1,024")
    (2, 0)
    """
    found = re.search(r"\.(\d+)", text)
    return len(found[1]) if found else 0


def _caption(table: Table) -> str:
    return f"{table.title}. {table.note}".rstrip()


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _places(table: Table) -> range:
    return range(len(table.columns))


def _value(cell: Cell) -> str:
    return cell.text if cell.value is None else repr(cell.value)


def _spread(cell: Cell) -> str:
    return "" if cell.spread is None else repr(cell.spread)


def _note(cell: Cell) -> str:
    return cell.note

"""Tables as LaTeX: a floating table with the rules of booktabs.

Names come from records, so every character that means something to TeX is escaped.
"""

from longarena.table.line import Language
from longarena.table.table import Row, Table, one_line

ESCAPES = {
    **{letter: f"\\{letter}" for letter in "&%$#_{}"},
    **{"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"},
    **{"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"\textquotedbl{}"},
    **{"\N{MULTIPLICATION SIGN}": r"$\times$", "\N{EN DASH}": "--"},
}


def escape(text: str) -> str:
    r"""Write a text so that TeX prints it.

    >>> escape("my_mixer 50% <b>")
    'my\\_mixer 50\\% \\textless{}b\\textgreater{}'
    """
    return "".join(ESCAPES.get(letter, letter) for letter in one_line(text))


LANGUAGE = Language(escape, r"\textbf{%s}", r" $\pm$ ")


def latex(table: Table) -> str:
    r"""Write a floating table; it needs \usepackage{booktabs}."""
    kinds = "".join("r" if column.is_number else "l" for column in table.columns)
    head = " & ".join(escape(column.line) for column in table.columns)
    footers = [r"    \midrule", *map(_line, table.footers)] if table.footers else []
    return "\n".join(
        [
            r"% needs \usepackage{booktabs}",
            r"\begin{table}",
            r"  \centering",
            f"  \\caption{{{escape(table.caption)}}}",
            f"  \\label{{tab:{table.name}}}",
            f"  \\begin{{tabular}}{{{kinds}}}",
            r"    \toprule",
            f"    {head} \\\\",
            r"    \midrule",
            *map(_line, table.rows),
            *footers,
            r"    \bottomrule",
            r"  \end{tabular}",
            r"\end{table}",
            "",
        ]
    )


def _line(row: Row) -> str:
    return f"    {' & '.join(map(LANGUAGE.write, row.cells))} \\\\"

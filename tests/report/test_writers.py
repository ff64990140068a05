import csv
import html
import io
import re

import pytest

from longarena.report.table import Cell, Table
from longarena.report.writers import escape_latex, escape_markdown, latex, markdown, write_csv

NASTY = ["my_mixer", "50%", "a & b", "#1 ${x}^2~y\\z", "<script>alert(1)</script>", "a|b*c`d[e]"]


def table(*rows):
    return Table("t", "Title", ("Mechanism", "Score"), rows, note="Note.")


@pytest.mark.parametrize("text", NASTY)
def test_tex_is_given_nothing_that_it_would_obey(text):
    bare = re.sub(r"\\text\w+\{\}|\\[&%$#_{}]", "", escape_latex(text))
    assert not set(bare) & set("&%$#_{}~^\\<>|")


@pytest.mark.parametrize("text", NASTY)
def test_markdown_prints_what_was_meant(text):
    written = escape_markdown(text)
    assert html.unescape(re.sub(r"\\(.)", r"\1", written)) == text
    assert "<" not in written
    assert not re.search(r"(?<!\\)[|*_`\[]", written)


@pytest.mark.parametrize("text", [*NASTY, 'a "quoted", name', "two\nlines"])
def test_a_csv_file_gives_every_text_back(text):
    lines = list(csv.reader(io.StringIO(write_csv(table((Cell(text), Cell("1.0", 1.0)))))))
    assert lines == [["Mechanism", "Score"], [text, "1.0"]]


def test_a_csv_file_has_all_digits_and_columns_for_spreads_and_notes():
    rows = (Cell("a"), Cell("33.3", 100 / 3, 0.125)), (Cell("b"), Cell("1,024", 1024.0, note="n"))
    lines = list(csv.reader(io.StringIO(write_csv(table(*rows)))))
    assert lines[0] == ["Mechanism", "Score", "Score spread", "Score note"]
    assert [float(lines[1][1]), float(lines[1][2])] == [100 / 3, 0.125]
    assert lines[2] == ["b", "1024.0", "", "n"]


def test_a_line_break_in_a_name_does_not_break_a_row():
    text = markdown(table((Cell("two\nlines"), Cell("1", 1.0))))
    assert "| two lines | 1 |" in text


def test_markdown_has_rules_bold_and_spread():
    text = markdown(table((Cell("a"), Cell("33.3", 33.3, 0.52, is_best=True, note="n"))))
    assert text.splitlines() == [
        "| Mechanism | Score |",
        "| --- | ---: |",
        "| a | **33.3 ± 0.5** (n) |",
        "",
        "Title. Note.",
    ]


def test_latex_puts_footers_below_a_rule():
    found = Table("t", "T", ("M", "S"), ((Cell("a"), Cell("1", 1.0)),), ((Cell("f"), Cell("2")),))
    lines = [line.strip() for line in latex(found).splitlines()]
    assert lines[lines.index(r"a & 1 \\") :][:3] == [r"a & 1 \\", r"\midrule", r"f & 2 \\"]

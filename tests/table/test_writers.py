import csv
import html
import io
import re

import pytest
from rich.console import Console

from longarena.table import latex as tex
from longarena.table import markdown as md
from longarena.table.csv import write_csv
from longarena.table.latex import latex
from longarena.table.markdown import markdown
from longarena.table.table import Cell, Column, Row, Table, Words, distinct, mark_best
from longarena.table.terminal import fit, terminal

NASTY = ["my_mixer", "50%", "a & b", "#1 ${x}^2~y\\z", "<script>alert(1)</script>", "a|b*c`d[e]"]


COLUMNS = (Column("Mechanism", "name"), Column("Score", better="more"))


def table(*rows, columns=COLUMNS, footers=()):
    return Table("t", "Title", columns, tuple(map(Row, rows)), tuple(map(Row, footers)), "Note.")


def printed(found):
    """What a terminal shows of a table."""
    console = Console(file=io.StringIO(), width=120, force_terminal=True, color_system="standard")
    console.print(terminal(found, fit(found, 120)))
    return console.file.getvalue()


@pytest.mark.parametrize("text", NASTY)
def test_tex_is_given_nothing_that_it_would_obey(text):
    bare = re.sub(r"\\text\w+\{\}|\\[&%$#_{}]", "", tex.escape(text))
    assert not set(bare) & set("&%$#_{}~^\\<>|")


@pytest.mark.parametrize("text", NASTY)
def test_markdown_prints_what_was_meant(text):
    written = md.escape(text)
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
    found = table((Cell("a"), Cell("1", 1.0)), footers=[(Cell("f"), Cell("2"))])
    lines = [line.strip() for line in latex(found).splitlines()]
    assert lines[lines.index(r"a & 1 \\") :][:3] == [r"a & 1 \\", r"\midrule", r"f & 2 \\"]


def test_the_note_of_a_name_is_part_of_it_in_every_language():
    found = table((Cell("a", note="block=32"), Cell("1", 1.0)))
    assert "| a (block=32) | 1 |" in markdown(found)
    assert r"a (block=32) & 1" in latex(found)
    assert write_csv(found).splitlines()[1] == "a (block=32),1.0"
    assert "a (block=32)" in printed(found)


def test_a_column_is_named_in_one_line_by_its_unit_and_details_or_its_short_name():
    columns = (
        Column("Time", unit="s", details=("here",)),
        Column("Memory", details=("x",), short="M"),
    )
    found = table((Cell("1", 1.0), Cell("2", 2.0)), columns=columns)
    assert markdown(found).startswith("| Time, s, here | M |")
    assert write_csv(found).startswith('"Time, s, here",M')


def test_details_and_links_are_left_to_the_page():
    details = ((Words("3 seeds", link="runs/x.html"),),)
    found = table((Cell("a"), Cell("1", 1.0, details=details, mark="good")))
    for text in (markdown(found), latex(found), write_csv(found), printed(found)):
        assert "seeds" not in text
        assert "runs" not in text


def test_a_terminal_shows_spread_note_footers_and_the_best_in_bold():
    best = Cell("33.3", 33.3, 0.52, note="n", is_best=True)
    text = printed(table((Cell("a"), best), footers=[(Cell("mean"), Cell("30.0", 30.0))]))
    assert "\x1b[1m33.3" in text
    assert "± 0.5" in text
    assert "(n)" in text
    assert "mean" in text
    assert "Note." in text


@pytest.mark.parametrize("text", ["[bold]a[/bold]", "\x1b[31mred", "a\nb\x07"])
def test_a_name_steers_no_terminal(text):
    shown = printed(table((Cell(text), Cell("1", 1.0))))
    assert "\x1b[31m" not in shown
    assert "\x07" not in shown
    assert ("[bold]a[/bold]" in shown) == (text == "[bold]a[/bold]")


@pytest.mark.parametrize(
    ("better", "values", "best"),
    [
        ("more", [1.0, 3.0, 3.0], [False, True, True]),
        ("less", [1.0, 3.0, None], [True, False, False]),
        ("more", [2.0, 2.0], [False, False]),
        ("more", [2.0], [True]),
        (None, [1.0, 2.0], [False, False]),
    ],
)
def test_the_best_follows_the_column_and_where_all_are_equal_none_is(better, values, best):
    rows = [(Cell("x", value),) for value in values]
    marked = mark_best(table(*rows, columns=(Column("Score", better=better),)))
    assert [row.cells[0].is_best for row in marked.rows] == best


def test_tables_of_one_name_are_numbered():
    tables = distinct(Table(name, "", (), ()) for name in ("a", "b", "a"))
    assert [found.name for found in tables] == ["a", "b", "a-2"]


NARROW = table(
    (Cell("a long name"), Cell("33.3", 33.3, 0.5), Cell("some words about it"), Cell("1", 1.0)),
    columns=(*COLUMNS, Column("Remark", "remark"), Column("Year")),
)


@pytest.mark.parametrize(("width", "kept"), [(80, 4), (31, 3), (25, 2), (5, 1)])
def test_a_narrow_terminal_leaves_out_the_last_columns_and_never_a_name(width, kept):
    widths = fit(NARROW, width)
    assert list(widths) == list(range(kept))
    assert widths[0] == len("a long name")


def test_what_is_printed_fits_the_terminal_and_no_word_is_cut():
    widths = fit(NARROW, 31)
    console = Console(file=io.StringIO(), width=31)
    console.print(terminal(NARROW, widths))
    lines = console.file.getvalue().splitlines()
    assert max(len(line.rstrip()) for line in lines) <= 31
    assert {"name", "some", "words", "about", "it"} <= set(" ".join(lines).split())

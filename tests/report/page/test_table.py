"""The writer of HTML: what a reader sees of any table, and what can be sorted and chosen."""

import re

from report.page.test_page import HOSTILE

from longarena.report.page.environment import environment
from longarena.table.table import MISSING, Cell, Column, Row, Table, Words

COLUMNS = (
    Column("Mechanism", "name"),
    Column("Score", unit="%", details=("here",), filters={"task": "text"}),
    Column("Memory", better="less", role="average"),
    Column("Mixer", "text", is_on_page=False),
)


def write(*rows, footers=(), columns=COLUMNS):
    table = Table("t", "Title", columns, rows, footers)
    text = environment().get_template("table.html").module.table(table)
    return re.sub(r">\s+<", "><", text)


def row(name="a", score=MISSING, memory=MISSING, mixer="m", **filters):
    return Row((Cell(name), score, memory, Cell(mixer)), filters)


def test_a_header_says_its_unit_and_details_and_what_it_is_chosen_and_sorted_by():
    text = write(row())
    assert '<th scope="col" class="number " aria-sort="none" data-task="text">' in text
    assert '<button type="button">Score, %</button><span class="sub">here</span>' in text
    assert '<th scope="col" class="number average" aria-sort="none" data-first="ascending">' in text


def test_a_row_is_chosen_by_its_filters():
    assert '<tr data-family="kernels" data-preset="quick">' in write(
        row(family="kernels", preset="quick")
    )


def test_a_number_has_its_spread_and_its_mark_and_is_sorted_by_its_value():
    score = Cell("33.3", 100 / 3, 0.52, is_best=True, mark="good")
    text = write(row(score=score), row("b", Cell("1.0", 1.0)))
    assert f'data-sort="{100 / 3}"><span class="value best">33.3</span>' in text
    assert '<span class="spread">± 0.5</span>' in text
    assert '<span class="mark" role="img" aria-label="good">▲</span>' in text
    assert '<span class="value">1.0</span><span class="mark" aria-hidden="true"></span>' in text


def test_what_is_missing_or_failed_has_no_value_to_sort_by():
    text = write(row(score=Cell("out of memory", tone="failed")))
    assert 'data-sort=""><span class="failed">out of memory</span>' in text
    assert 'none" data-sort=""><span aria-label="nothing">' in text


def test_details_stand_below_a_number_and_its_note_where_it_has_none():
    details = (
        (Words("3 seeds", link="runs/x.html"), Words("1.31", tone="over")),
        (Words("1 collapsed", tone="failed"),),
    )
    text = write(
        row(score=Cell("1", 1.0, note="n", details=details)), row("b", Cell("2", note="n"))
    )
    assert '<a href="runs/x.html" rel="noreferrer">3 seeds</a> · <span class="whole over">' in text
    assert '<span class="sub failed">1 collapsed</span>' in text
    assert text.count('<span class="sub">n</span>') == 1


def test_a_column_that_is_not_on_the_page_is_left_out_whole():
    text = write(row(mixer="hidden"), footers=[row("mean", mixer="hidden")])
    assert "hidden" not in text
    assert "Mixer" not in text
    assert text.count("<td") == 4


def test_no_text_of_a_table_is_markup():
    cell = Cell(HOSTILE, 1.0, note=HOSTILE, tone="", mark=HOSTILE)
    linked = Cell(HOSTILE, link=HOSTILE, details=((Words(HOSTILE, HOSTILE), Words(HOSTILE)),))
    hostile = Column(HOSTILE, unit=HOSTILE, details=(HOSTILE,), filters={"task": HOSTILE})
    columns = (Column("Name", "name"), hostile, Column("Run", "id"), Column("Text", "remark"))
    text = write(Row((linked, cell, linked, linked), {"family": HOSTILE}), columns=columns)
    assert "<script" not in text
    assert "<img" not in text
    assert text.count("&lt;script&gt;") > 10

"""The table that says whether tasks order the mechanisms alike."""

import pytest
from report.examples import run_record

from longarena.findings.boards import own_variant
from longarena.findings.published import PAPER, accuracy
from longarena.recipes.presets import preset
from longarena.records.folder import Records
from longarena.report.findings import Findings
from longarena.report.page.page import render
from longarena.report.tables import TABLES
from longarena.table.table import DASH

MIXERS = ("transformer", "local", "linear", "performer", "reformer", "sinkhorn")


def scored(task, accuracies):
    for mixer, value in zip(MIXERS, accuracies, strict=False):
        recipe = preset(task, mixer, "quick")
        variant = own_variant("quick", task)
        yield run_record(mixer, accuracy=value, recipe=recipe, id=recipe.id, variant=variant)


RISING = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
RECORDS = Records(
    [
        *scored("listops", RISING),
        *scored("text", RISING[::-1]),
        *scored("image", (0.3, 0.4, 0.5, 0.7, 0.6)),
    ]
)


def table(records):
    (found,) = TABLES["agreement"].make(Findings.of(records))
    return {
        row.cells[0].text: [(cell.text, cell.note) for cell in row.cells[1:]] for row in found.rows
    }


def test_orders_are_compared_with_each_other_over_the_mechanisms_that_have_both():
    rows = table(RECORDS)
    assert list(rows) == ["ListOps", "Text", "Image"]
    assert rows["ListOps"][:3] == [(DASH, ""), ("-1.00", "6"), ("0.90", "5, by chance")]
    assert rows["Image"][1] == ("-0.90", "5, by chance")


@pytest.mark.parametrize(("sign", "shown"), [(1, "1.00"), (-1, "-1.00")])
def test_an_order_is_compared_with_that_of_the_paper(sign, shown):
    published = [accuracy(PAPER, mixer, "listops") for mixer in MIXERS]
    rows = table(Records([*scored("listops", [0.5 + sign * value / 100 for value in published])]))
    assert rows["ListOps"][-1] == (shown, "6")


def test_three_mechanisms_are_too_few():
    records = Records([*scored("listops", RISING[:3]), *scored("text", RISING[:3])])
    assert TABLES["agreement"].make(Findings.of(records)) == []


def test_the_page_shows_it():
    assert 'id="table-agreement-arena-quick"' in render(RECORDS)

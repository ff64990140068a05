"""Runs of other recipes on the papers' data, beside the published scores."""

import pytest
from report.examples import run_record

from longarena.recipes.presets import preset
from longarena.recipes.recipe import override
from longarena.records.folder import Records
from longarena.report.findings import Findings
from longarena.report.page.page import render
from longarena.report.tables.anchors import anchor_tables
from longarena.table.table import DASH


def run(mixer="s4d", accuracy=0.8, changes=("steps=100",), *, variant="", task="text", name="own"):
    recipe = override(preset(task, mixer, name), changes)
    return run_record(mixer, accuracy=accuracy, recipe=recipe, id=recipe.id, variant=variant)


def texts(*runs):
    tables = anchor_tables(Findings.of(Records(runs=list(runs))))
    return [[cell.text for cell in row.cells] for table in tables for row in table.rows]


def test_a_shorter_run_stands_beside_its_authors_and_the_best_of_the_paper():
    [row] = texts(run())
    assert row[:5] == ["S4D", "Text", "80.0", "86.18", "65.90"]
    assert row[6] == "preset own, steps=100"


def test_a_number_of_the_paper_is_beaten_and_one_of_the_authors_is_not():
    [table] = anchor_tables(Findings.of(Records(runs=[run(accuracy=0.8)])))
    assert [cell.note for cell in table.rows[0].cells[3:5]] == ["", "beaten"]
    [table] = anchor_tables(Findings.of(Records(runs=[run(accuracy=0.862)])))
    assert [cell.note for cell in table.rows[0].cells[3:5]] == ["matched", "beaten"]


@pytest.mark.parametrize(
    "other",
    [
        run(variant="max_length=512"),
        # what a preset trains in full has a table of its own
        run(changes=()),
        run(task="digits", mixer="linear", name="cpu", changes=()),
    ],
    ids=["a variant of the data", "in full", "no task of the paper"],
)
def test_what_is_no_anchor(other):
    assert texts(other) == []


def test_the_eleven_of_the_paper_have_its_numbers_and_others_none():
    rows = texts(
        run("linear", name="cpu", task="image"), run("convolution", name="cpu", task="image")
    )
    assert {row[0]: row[3] for row in rows} == {"Linear Transformer": "42.34", "Convolution": DASH}


def test_the_best_of_a_task_comes_first_and_tasks_go_as_in_the_paper():
    rows = texts(
        run("linear", 0.3, name="cpu", task="image"),
        run("s4d", 0.5, name="cpu", task="image"),
        run("s4d", 0.8),
    )
    assert [row[1] for row in rows] == ["Text", "Image", "Image"]
    assert [row[2] for row in rows] == ["80.0", "50.0", "30.0"]


def test_the_page_shows_them():
    page = render(Records(runs=[run()]))
    assert 'href="#beside"' in page
    assert "Other recipes on official data" in page
    assert "beaten" in page

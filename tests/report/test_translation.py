"""The table of BLEU beside the Mult-Adds of a sentence, from records written by hand."""

import pytest
from report.translations import translated

from longarena.records.folder import Records
from longarena.report.findings import Findings
from longarena.report.page.page import render
from longarena.report.tables import TABLES
from longarena.table.table import DASH

SMALL = ("model.width=64", "model.mlp_width=128")
KINDS = {"attention": 5_000_000, "convolution": 0, "feed-forward": 6_000_000}


def costing(total, chrf=50.0):
    return {"mult_adds": {**KINDS, "total": total}, "chrF": chrf}


RUNS = [
    translated("lite-transformer", 33.0, costing(19_000_000)),
    translated("transformer", 30.0, costing(20_000_000)),
    translated("transformer", 32.0, costing(20_000_000, chrf=52.0), seed=1),
    translated("transformer", 25.0, costing(5_000_000), sets=SMALL),
]


def tables(runs):
    return TABLES["translation"].make(Findings.of(Records(runs)))


def test_every_mechanism_and_size_has_a_row_with_its_cost_by_kind_of_layer():
    (table,) = tables(RUNS)
    rows = [[cell.text for cell in row.cells] for row in table.rows]
    kinds = ["5M", "0", "6M", DASH]
    parameters = rows[0][3]
    assert rows == [
        ["Transformer", "64", "0.003", parameters, "25.0", "50.0", "1", "5M", *kinds],
        ["Transformer", "128", "0.003", parameters, "31.0", "51.0", "2", "20M", *kinds],
        ["Lite Transformer", "128", "0.003", parameters, "33.0", "50.0", "1", "19M", *kinds],
    ]
    assert table.name == "translation-cpu-multi30k"
    assert "standard error of up to 0.5" in table.note


def test_the_spread_is_that_of_seeds():
    (table,) = tables(RUNS)
    assert [row.cells[4].spread for row in table.rows] == [None, pytest.approx(2**0.5), None]


def test_a_rate_goes_with_the_size_and_is_no_other_setting():
    faster = translated("transformer", 34.0, costing(20_000_000), sets=["optimiser.rate=0.006"])
    (table,) = tables([RUNS[1], faster])
    found = [(row.cells[2].text, row.cells[4].text) for row in table.rows]
    assert found == [("0.003", "30.0"), ("0.006", "34.0")]


def test_another_setting_is_another_table():
    longer = translated("transformer", 34.0, costing(20_000_000), sets=["steps=4000"])
    assert [len(table.rows) for table in tables([*RUNS, longer])] == [3, 1]


@pytest.mark.parametrize("details", [{}, {"mult_adds": 5}, {"mult_adds": {"total": "many"}}])
def test_a_record_without_a_cost_has_no_row(details):
    assert tables([translated("transformer", 30.0, details)]) == []


def test_a_chrf_that_is_no_number_is_missing():
    (table,) = tables([translated("transformer", 30.0, costing(10_000_000, chrf="x"))])
    assert table.rows[0].cells[5].text == DASH


def test_the_page_shows_it():
    assert 'id="table-translation-cpu-multi30k"' in render(Records(RUNS))

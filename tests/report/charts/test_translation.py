"""The chart of BLEU over Mult-Adds: sizes along a line, published points as lines of their own."""

import pytest
from report.translations import TOTAL, translated

from longarena.findings.details import scoring, translations
from longarena.findings.published_translation import TRANSLATIONS
from longarena.records.folder import Records
from longarena.report.charts import draw_charts
from longarena.report.findings import Findings


def draw(*runs):
    found = Findings.of(Records(list(runs)))
    charts = {chart.name: chart for chart in draw_charts(found, ["translation"])}
    return charts["translation"].spec["datasets"]["points"] if charts else []


def line(points, name, panel=0):
    return [(p["x"], p["y"]) for p in points if (p["mixer"], p["panel"]) == (name, panel)]


def test_sizes_are_points_of_one_line_and_seeds_are_averaged():
    wide = ("model.width=64", "model.mlp_width=128")
    points = draw(
        translated("transformer", 30.0, {"mult_adds": {"total": 20_000_000}}),
        translated("transformer", 32.0, {"mult_adds": {"total": 20_000_000}}, seed=1),
        translated("transformer", 25.0, {"mult_adds": {"total": 5_000_000}}, sets=wide),
        translated("lite-transformer", 33.0, {"mult_adds": {"total": 19_000_000}}),
        translated("lite-transformer", 31.0, TOTAL, sets=["model.flat=false"]),
    )
    assert line(points, "Transformer") == [(5.0, 25.0), (20.0, 31.0)]
    assert line(points, "Lite Transformer") == [(19.0, 33.0)]
    assert line(points, "Lite Transformer (flat=false)") == [(10.0, 31.0)]


@pytest.mark.parametrize(("bleu", "shown"), [(29.0, 30.0), (31.0, 31.0)])
def test_a_size_is_one_point_with_the_rate_that_did_best_on_validation(bleu, shown):
    points = draw(
        translated("transformer", 30.0, TOTAL),
        translated("transformer", bleu, TOTAL, sets=["optimiser.rate=0.006"]),
    )
    assert line(points, "Transformer") == [(10.0, shown)]


def test_runs_that_differ_in_more_than_size_have_panels_of_their_own():
    points = draw(
        translated("transformer", 30.0, TOTAL),
        translated("transformer", 31.0, TOTAL, sets=["steps=4000"]),
    )
    assert {p["panel"] for p in points if p["mixer"] == "Transformer"} == {0, 1}


def test_published_points_are_lines_of_their_own_in_panels_of_their_own():
    points = draw(translated("transformer", 30.0, TOTAL))
    assert line(points, "Lite Transformer (Wu et al.)", 1) == [(90, 22.5), (360, 25.6), (527, 26.5)]
    assert line(points, "Transformer (Wu et al.)", 2) == [(87, 33.6), (527, 38.4)]


def test_published_points_stand_beside_runs_on_the_same_sentences():
    points = draw(translated("transformer", 20.0, TOTAL, task="wmt14"))
    assert line(points, "Transformer") == [(10.0, 20.0)]
    assert line(points, "Lite Transformer (Wu et al.)") == [(90, 22.5), (360, 25.6), (527, 26.5)]
    assert {p["panel"] for p in points} == {0, 1}


@pytest.mark.parametrize("details", [{}, {"mult_adds": 5}, {"mult_adds": {"total": "many"}}])
def test_a_record_without_mult_adds_is_left_out(details):
    assert draw(translated("transformer", 30.0, details)) == []


def test_the_differences_are_those_of_the_abstract():
    french = TRANSLATIONS[1].points
    bleu = {(each.mixer, each.mult_adds // 10**6): each.bleu for each in french}
    assert bleu["lite-transformer", 527] - bleu["transformer", 527] == pytest.approx(1.2)
    assert bleu["lite-transformer", 90] - bleu["transformer", 87] == pytest.approx(1.7)


@pytest.mark.parametrize(
    "details", [{}, {"translations": 3, "chrF": "x"}, {"translations": [{"source": 1}]}]
)
def test_a_record_that_says_something_else_shows_nothing(details):
    record = translated("transformer", 30.0, details)
    assert (translations(record), scoring(record)) == ([], [])

import pytest
from report.examples import run_record
from report.tunings import at_rate

from longarena.findings import selection
from longarena.findings.scores import score_table
from longarena.findings.selection import charted, select

RATES = (0.001, 0.002, 0.004, 0.008)


def at_rates(mixer, best):
    """Runs that did best on validation at one rate, and best on test at another."""
    for rate in RATES:
        run = at_rate(rate, mixer, accuracy=0.3)
        valid = run.metrics.valid.model_copy(update={"value": 0.5 if rate == best else 0.2})
        test = run.metrics.test.model_copy(update={"value": 0.9 if rate == RATES[0] else 0.3})
        metrics = run.metrics.model_copy(update={"valid": valid, "test": test})
        yield run.model_copy(update={"metrics": metrics})


@pytest.fixture(scope="module")
def table():
    plain = [run_record(mixer, 0, 0.2) for mixer in ("transformer", "linear")]
    return score_table([*plain, *at_rates("transformer", RATES[2]), *at_rates("linear", RATES[3])])


def settings(table):
    return {(row.mixer, column.changes) for row, column in table.scores}


def test_all_results_that_there_is_room_for_are_kept(table):
    assert select(table, len(table.scores)) is table


def test_the_preset_comes_first_and_then_what_did_best_on_validation(table):
    plain = {("transformer", ""), ("linear", "")}
    assert settings(select(table, 2)) == plain
    best = {("transformer", "optimiser.rate=0.004"), ("linear", "optimiser.rate=0.008")}
    assert settings(select(table, 4)) == plain | best


def test_rows_and_columns_without_a_result_go(table):
    kept = select(table, 2)
    assert len(kept.columns) == 1
    assert {row.mixer for row in kept.rows} == {"transformer", "linear"}


def test_one_mechanism_does_not_take_all_the_room(table, monkeypatch):
    monkeypatch.setattr(selection, "MOST_OF_ONE", 2)
    kept = [row.mixer for row, _ in select(table, 9).scores]
    assert sorted(kept) == ["linear", "linear", "transformer", "transformer"]


def test_charts_of_very_many_results_show_presets_as_they_are(table, monkeypatch):
    assert charted(table) is table
    monkeypatch.setattr(selection, "MOST_RESULTS", 3)
    assert settings(charted(table)) == {("transformer", ""), ("linear", "")}

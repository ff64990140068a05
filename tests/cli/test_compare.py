"""longarena compare: a table, a sentence, and a refusal in one line."""

import json

import pytest
from cli.commands import assert_refused
from findings.test_comparison import answered

from longarena.records.folder import write_record


@pytest.fixture
def store(tmp_path):
    runs = [answered("linear", 0.3, seed) for seed in range(2)]
    runs += [answered("transformer", 0.6, seed) for seed in range(2)]
    runs += [answered("local", 0.6, fingerprint="e" * 16)]
    for run in runs:
        write_record(tmp_path / "records", run.record, run.answers)
    return {
        f"{run.record.recipe.model.mixer}{run.record.recipe.seed}": run.record.id for run in runs
    }


def test_two_runs_are_compared(store, run):
    names = store["linear0"], store["transformer0"]
    code, output, _ = run("compare", *names, "--store", "records")
    assert code == 0
    assert "transformer is better than linear" in output
    assert "McNemar's exact test: p = " in output
    assert "one seed each" in output


def test_all_seeds_are_taken_if_wanted(store, run):
    names = store["linear0"], store["transformer1"]
    code, output, _ = run("compare", *names, "--seeds", "--store", "records", "--json")
    places = json.loads(output)["places"]
    assert code == 0
    assert [len(place["runs"]) for place in places] == [2, 2]
    assert [place["verdict"] for place in places] == ["best", "worse"]
    assert places[1]["low"] < places[1]["difference"] < places[1]["high"]


def test_different_data_is_refused(store, run):
    names = store["linear0"], store["local0"]
    assert_refused(run("compare", *names, "--store", "records"), "tested on different data")


def test_a_run_without_answers_is_refused(store, run, tmp_path):
    for path in (tmp_path / "records").rglob(f"{store['linear0']}.npz"):
        path.unlink()
    names = store["linear0"], store["transformer0"]
    assert_refused(run("compare", *names, "--store", "records"), "not beside its record")

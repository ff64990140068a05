"""Listing runs: which of many are shown, and where they come from."""

import json

import pytest
from report.examples import run_record
from report.many import write_many

from longarena.cli import list_runs
from longarena.records.summary import RunSummary
from longarena.training.folder import RunFolder, all_runs
from longarena.training.listing import read_runs

RECORDS = [
    run_record(mixer, seed, 0.3 + 0.1 * (mixer == "linear"), finished_at=f"2026-01-{day:02d}")
    for day, (mixer, seed) in enumerate(
        [("linear", 0), ("transformer", 0), ("linear", 1), ("transformer", 1)], start=1
    )
]
OWN = run_record("mine:Own", 0, 0.2, finished_at="2025-01-01")


@pytest.fixture
def runs(tmp_path):
    """Runs that have ended, and one that has not."""
    for record in (*RECORDS, OWN):
        folder = RunFolder.of(tmp_path / "runs", record.recipe)
        folder.write_recipe(record.recipe)
        folder.record.write_text(record.model_dump_json())
    RunFolder.of(tmp_path / "runs", run_record("local", 5).recipe).write_recipe(
        run_record("local", 5).recipe
    )
    return tmp_path / "runs"


def listed(run, *words):
    _, output, _ = run("list", "runs", "--json", *words)
    return json.loads(output)


def test_runs_under_a_folder_are_told_apart_by_what_became_of_them(run, runs):
    found = {row["run"]: row for row in listed(run, "--runs", str(runs))}
    assert len(found) == 6
    states = [row["state"] for row in found.values()]
    assert sorted(states) == ["finished"] * 5 + ["unfinished"]
    best = [row for row in found.values() if row["standing"] == "best"]
    assert {row["mixer"] for row in best} == {"linear"}


def test_an_index_lists_the_same(run, runs, request):
    before = listed(run, "--runs", str(runs))
    request.getfixturevalue("indexed")
    for _ in ("made", "used"):
        assert listed(run, "--runs", str(runs)) == before
    found = [each for each in read_runs(runs, all_runs(runs)) if isinstance(each, RunSummary)]
    assert len(found) == len(RECORDS) + 1, "all but the one that has not ended"


@pytest.mark.usefixtures("indexed")
def test_a_folder_with_the_record_of_another_run_is_listed_as_damaged(run, runs):
    first, second = (RunFolder.of(runs, record.recipe) for record in RECORDS[:2])
    first.record.write_bytes(second.record.read_bytes())
    states = {row["run"]: row["state"] for row in listed(run, "--runs", str(runs))}
    assert [name for name, state in states.items() if state == "damaged"] == [first.path.name]
    _, output, _ = run("list", "runs", "--runs", str(runs))
    assert f"next: longarena show run {first.path.name}" in output
    code, _, errors = run("show", "run", first.path.name, "--runs", str(runs))
    assert code == 2
    assert "is of another run" in errors


def test_runs_are_chosen_by_task_and_mixer(run, runs):
    mixers = {row["mixer"] for row in listed(run, "--runs", str(runs), "--mixer", "linear")}
    assert mixers == {"linear"}
    assert len(listed(run, "--runs", str(runs), "--mixer", "mine:Own")) == 1
    assert listed(run, "--runs", str(runs), "--task", "text") == []


def test_the_newest_are_shown_of_many(run, runs):
    found = listed(run, "--runs", str(runs), "--limit", "3")
    assert {row["state"] for row in found} == {"finished", "unfinished"}
    ended = [row["run"] for row in found if row["state"] == "finished"]
    assert sorted(ended) == sorted(record.id for record in RECORDS[2:])


def test_a_terminal_is_told_what_is_left_out(run, runs, monkeypatch):
    monkeypatch.setattr(list_runs, "MOST_COMPARED", 5)
    _, output, _ = run("list", "runs", "--runs", str(runs), "--limit", "2")
    assert "the newest 2 of 6 runs" in output
    assert "standings are left out among more than 5 runs" in output
    assert RECORDS[0].id not in output


def test_the_runs_of_a_store_are_listed_by_their_records(run, tmp_path):
    store = write_many(tmp_path / "records", [*RECORDS, OWN])
    found = listed(run, "--store", str(store), "--mixer", "mine:Own")
    assert [(row["run"], row["changed"]) for row in found] == [(OWN.id, "2025-01-01")]
    assert len(listed(run, "--store", str(store))) == 5

import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from cli.commands import call
from records.test_folder import record
from training.runs import small_recipe

from longarena.findings.scores import score_table
from longarena.records.answers import Answers, answers_path, read_answers
from longarena.records.folder import read_records, record_path, write_record
from longarena.records.merge import merge
from longarena.records.record import FailureRecord
from longarena.runtime import machine, versions

LATER = "2026-02-02T00:00:00+00:00"


@pytest.fixture
def folders(tmp_path):
    return tmp_path / "theirs", tmp_path / "ours"


def failure():
    recipe = small_recipe()
    return FailureRecord(
        id=recipe.id,
        recipe=recipe,
        variant="",
        error="no luck",
        machine=machine(),
        versions=versions(),
        finished_at=LATER,
    )


def scored(accuracy, finished_at=LATER):
    score = record().metrics.test.model_copy(update={"value": accuracy})
    metrics = record().metrics.model_copy(update={"test": score})
    return record(metrics=metrics, finished_at=finished_at)


def test_new_records_are_added_and_known_ones_left(folders):
    theirs, ours = folders
    other = record(id="another")
    for each in (record(), other):
        write_record(theirs, each)
    path = write_record(ours, record())
    before = path.stat().st_mtime_ns
    merged = merge(theirs, ours)
    assert (len(merged.added), len(merged.known), len(merged.beside)) == (1, 1, 0)
    assert path.stat().st_mtime_ns == before
    assert {run.id for run in read_records(ours).runs} == {record().id, "another"}


def test_a_run_that_was_run_twice_is_kept_twice_and_counts_once(folders):
    theirs, ours = folders
    write_record(theirs, scored(0.9))
    path = write_record(ours, scored(0.3, "2026-01-01T00:00:00+00:00"))
    before = path.read_text()
    assert len(merge(theirs, ours).beside) == 1
    assert path.read_text() == before
    found = read_records(ours).runs
    assert len(found) == 2
    [score] = score_table(found).scores.values()
    assert score.values == (0.9,)


def test_merging_again_changes_nothing(folders):
    theirs, ours = folders
    write_record(theirs, scored(0.9))
    write_record(theirs, record(id="another"))
    write_record(ours, scored(0.3))
    merge(theirs, ours)
    files = {path: path.read_bytes() for path in ours.rglob("*.json")}
    again = merge(theirs, ours)
    assert (len(again.added), len(again.beside), len(again.known)) == (0, 0, 2)
    assert {path: path.read_bytes() for path in ours.rglob("*.json")} == files


def test_a_success_takes_the_place_of_a_failure_and_never_the_other_way(folders):
    theirs, ours = folders
    write_record(theirs, record())
    write_record(ours, failure())
    assert len(merge(theirs, ours).added) == 1
    write_record(theirs, failure())
    assert len(merge(theirs, ours).known) == 1
    found = read_records(ours)
    assert (found.runs, found.failures) == ([record()], [])


def test_what_is_damaged_is_named_and_neither_taken_nor_overwritten(folders):
    theirs, ours = folders
    write_record(theirs, record())
    (theirs / "bad.json").write_text("{")
    damaged = record_path(ours, record())
    damaged.parent.mkdir(parents=True)
    damaged.write_text("half a rec")
    merged = merge(theirs, ours)
    assert [path.name for path in merged.unreadable] == ["bad.json"]
    assert damaged.read_text() == "half a rec"
    assert read_records(ours).runs == [record()]


def test_merges_at_the_same_time_lose_nothing(tmp_path):
    sources = [tmp_path / f"friend-{number}" for number in range(4)]
    for number, source in enumerate(sources):
        for day in range(1, 4):
            at = f"2026-03-0{day}T00:00:00+00:00"
            write_record(source, scored(0.1 * number, at))
            write_record(source, record(id=f"day-{day}", finished_at=f"{at}{number}"))
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda source: merge(source, tmp_path / "ours"), sources))
    found = read_records(tmp_path / "ours")
    assert len(found.runs) == 4 * 6
    assert not found.unreadable


def test_nothing_comes_in_from_outside_of_the_folder(folders):
    theirs, ours = folders
    secret = theirs.with_name("secret")
    secret.write_text("a key")
    path = write_record(theirs, record(answers="0" * 16))
    answers_path(path).symlink_to(secret)
    (theirs / "linked.json").symlink_to(write_record(theirs.with_name("mine"), record(id="mine")))
    merged = merge(theirs, ours)
    assert [each.name for each in merged.unreadable] == ["linked.json"]
    assert not list(ours.rglob("*.npz"))


def test_answers_come_along_if_they_are_those_of_the_record(folders):
    theirs, ours = folders
    answers = Answers(np.ones(3, np.float32), np.arange(3))
    write_record(theirs, record(answers=answers.digest), answers)
    other = write_record(theirs, record(id="other", answers="0" * 16), answers)
    assert answers_path(other).exists()
    merge(theirs, ours)
    (kept,) = ours.rglob("*.npz")
    assert read_answers(kept).digest == answers.digest


def test_a_record_under_the_id_of_another_recipe_is_named(folders, run):
    _, ours = folders
    write_record(ours, record(id="another"))
    code, output, _ = run("store", "check", str(ours))
    assert code == 1
    assert f"its id is not that of its recipe, {record().id}" in output


@pytest.mark.slow
def test_the_commands_say_what_they_did(folders, tmp_path):
    theirs, ours = folders
    write_record(theirs, record())
    (theirs / "bad.json").write_text("{")
    code, output, errors = call("store", "merge", theirs, "--into", ours, folder=tmp_path)
    assert code == 0, errors
    assert "1 added" in output
    assert "bad.json" in output
    code, output, _ = call("store", "check", theirs, "--json", folder=tmp_path)
    assert code == 1
    assert json.loads(output)["runs"] == 1
    assert call("store", "check", ours, folder=tmp_path)[0] == 0
    code, _, errors = call("store", "merge", "nowhere", folder=tmp_path)
    assert code == 2
    assert "nowhere is not a folder" in errors

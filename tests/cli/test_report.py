"""The page from the command line: what it says, and how watching ends."""

import json
import os
import signal
import time

import pytest
from cli.commands import start
from report.examples import measure_record, run_record

from longarena.records.folder import write_record

RUNS = [run_record(mixer, seed) for mixer in ("transformer", "linear") for seed in (0, 1)]


@pytest.fixture
def store(tmp_path):
    for record in (*RUNS, measure_record(), measure_record("linear", speed=8.0)):
        write_record(tmp_path / "records", record)
    (tmp_path / "records" / "broken.json").write_text("{")
    return tmp_path / "records"


def test_the_command_says_where_the_page_is_and_what_is_in_it(run, store, tmp_path):
    code, output, _ = run("report", "--store", str(store), "--out", "page")
    assert code == 0
    assert f"the page is {tmp_path / 'page' / 'index.html'}" in output
    assert "4 runs, 2 mechanisms, 1 task, 2 measurements, 1 unreadable record" in output
    assert all((tmp_path / "page" / "runs" / f"{run.id}.html").exists() for run in RUNS)
    assert "MiB, and beside it are 4 pages of runs with " in output


def test_the_same_as_json(run, store, tmp_path):
    _, output, _ = run("report", "--store", str(store), "--json")
    found = json.loads(output)
    assert (found["runs"], found["unreadable records"]) == (4, 1)
    assert found["page"] == str(tmp_path / "report" / "index.html")
    assert found["bytes"] == (tmp_path / "report" / "index.html").stat().st_size


@pytest.mark.parametrize("fixture", ["tmp_path", "indexed"])
def test_the_page_of_one_run_is_written_alone(run, store, tmp_path, fixture, request):
    request.getfixturevalue(fixture)
    first, second = RUNS[:2]
    words = ("report", "--store", str(store), "--out", "page", "--run")
    for record in (second, first):
        code, output, _ = run(*words, record.id[:6])
        assert code == 0
        assert f"the page is {tmp_path / 'page' / 'runs' / record.id}.html" in output
    pages = tmp_path / "page" / "runs"
    assert sorted(path.stem for path in pages.iterdir()) == sorted([first.id, second.id])
    assert f'href="{second.id}.html"' in (pages / f"{first.id}.html").read_text()
    assert not (tmp_path / "page" / "index.html").exists()
    assert run(*words, "zzz")[0] == 2


def test_of_very_many_unreadable_records_the_first_are_named(run, store):
    for number in range(30):
        (store / f"broken-{number}.json").write_text("{")
    _, output, _ = run("export", "runs", "--store", str(store))
    assert output.count("left out: ") == 20
    assert "and 11 more; see: longarena store check" in output


def test_families_are_listed_with_the_numbers_of_the_store(run, store):
    _, output, _ = run("list", "mixers", "--families", "--store", str(store), "--json")
    rows = {row["Mixer"]: row for row in json.loads(output)}
    assert rows["linear"]["Speed"] == 2.0
    assert round(rows["linear"]["Score"], 1) == 34.0
    assert rows["performer"]["Speed"] is None


@pytest.mark.everywhere
@pytest.mark.slow
def test_watching_follows_the_store_and_ends_by_ctrl_c_with_a_line(store, tmp_path):
    process = start("report", "--store", store, "--watch", folder=tmp_path)
    page = tmp_path / "report" / "index.html"
    new = run_record("local", 7)
    try:
        wait_for(page, RUNS[0].id)
        write_record(store, new)
        wait_for(page, new.id)
        assert 'http-equiv="refresh"' in page.read_text()
    finally:
        os.kill(process.pid, signal.SIGINT)
        output, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (0, "")
    assert output.rstrip().splitlines()[-1] == f"no longer watching; the page stays at {page}"
    assert 'http-equiv="refresh"' not in page.read_text()


def wait_for(page, words, seconds=90):
    """Wait until a page has some words."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if page.exists() and words in page.read_text():
            return
        time.sleep(0.2)
    raise TimeoutError(f"no {words} in {page}")

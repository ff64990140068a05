"""The page of very many records: the same as that of few, and never much larger."""

import json
import re

import pytest
from report.many import many_records, write_many

from longarena.findings import selection
from longarena.records.folder import Records, read_records
from longarena.report import findings, links
from longarena.report.page import run_list
from longarena.report.page.page import render, write_page

NUM_RESULTS, NUM_PAGES, NUM_NEWEST, NUM_SHOWN = 5, 6, 2, 4


@pytest.fixture(scope="module")
def records():
    return Records(runs=[each for each in many_records() if each.kind == "run"])


@pytest.fixture
def crowded(monkeypatch):
    """Have room for a few results and runs."""
    for module in (selection, findings):
        monkeypatch.setattr(module, "MOST_RESULTS", NUM_RESULTS)
    monkeypatch.setattr(selection.select, "__defaults__", (NUM_RESULTS,))
    monkeypatch.setattr(findings, "MOST_PAGES", NUM_PAGES)
    monkeypatch.setattr(links, "NUM_NEWEST", NUM_NEWEST)
    monkeypatch.setattr(run_list, "NUM_SHOWN", NUM_SHOWN)


def run_data(page):
    return json.loads(re.search(r'id="run-data">(.*?)</script>', page)[1])


def test_a_page_by_an_index_is_that_of_the_records(tmp_path, request, reads):
    store = write_many(tmp_path, many_records(seeds=3))
    page = render(read_records(store))
    assert set(reads.values()) == {1}, "few records are read once"
    request.getfixturevalue("indexed")
    read_records(store)
    reads.clear()
    assert render(read_records(store)) == page
    assert set(reads.values()) == {1}, "what the index leaves out is read once"


@pytest.mark.usefixtures("crowded")
def test_all_runs_are_there_for_the_script_and_the_newest_without_it(records):
    page = render(records)
    found = run_data(page)
    listed = [
        (row[0], row[5], *(names[at] for names, at in zip(found["names"], row[1:5], strict=True)))
        for row in found["runs"]
    ]
    assert sorted(listed) == sorted(
        (run.id, run.seed, run.task_name, run.mixer, run.preset, run.status) for run in records.runs
    )
    table = re.search(r'<table id="table-newest-runs".*?</table>', page, re.DOTALL)[0]
    assert table.count("<tr") == 1 + NUM_SHOWN
    assert f"the newest {NUM_SHOWN} of {len(records.runs)} runs" in page
    assert re.search(r"\([\d.]+ [KM]iB of this page\)", page), "it says what this costs"
    assert "longarena report --run ID" in page


@pytest.mark.usefixtures("crowded")
def test_few_runs_have_pages_and_every_link_leads_to_one(records, tmp_path):
    write_page(records, tmp_path)
    page = (tmp_path / "index.html").read_text()
    pages = {f"runs/{path.name}" for path in (tmp_path / "runs").iterdir()}
    assert NUM_NEWEST < len(pages) <= NUM_RESULTS + NUM_NEWEST
    assert {*re.findall(r'href="(runs/[^"]+)"', page)} <= pages
    assert {*run_data(page)["pages"].values()} == pages
    for path in (tmp_path / "runs").iterdir():
        others = re.findall(r'href="([^"./]+\.html)"', path.read_text())
        assert {f"runs/{other}" for other in others} <= pages


@pytest.mark.usefixtures("crowded")
def test_the_page_says_how_many_results_it_leaves_out(records):
    found = findings.Findings.of(records)
    page = render(records)
    assert f"Here are {NUM_RESULTS} of {len(found.scores.scores)} results" in page


def test_a_page_of_few_records_has_them_all(records):
    page = render(records)
    assert "run-data" not in page
    assert "Here are" not in page
    assert page.count('<a href="runs/') >= len(records.runs)

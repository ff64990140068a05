"""Very many runs on the page: a script filters, sorts and turns their pages."""

import pytest
from report.many import MIXERS, many_records

from longarena.records.folder import Records
from longarena.report import findings, links
from longarena.report.page import run_list

RECORDS = Records(runs=[each for each in many_records(seeds=9) if each.kind == "run"])
ROWS = "#table-newest-runs tbody tr"
STATUS = "#run-filters [role=status]"


@pytest.fixture
def page(open_tables, monkeypatch):
    monkeypatch.setattr(findings, "MOST_PAGES", 5)
    monkeypatch.setattr(links, "NUM_NEWEST", 3)
    monkeypatch.setattr(run_list, "NUM_SHOWN", 10)
    return open_tables(RECORDS)


def column(page, number):
    return page.locator(f"{ROWS} > :nth-child({number})").all_inner_texts()


def test_the_pages_of_the_table_are_turned(page):
    number = len(RECORDS.runs)
    assert page.locator(STATUS).inner_text() == f"1 to 10 of {number} runs"
    previous, following = (page.get_by_role("button", name=name) for name in ("Previous", "Next"))
    assert previous.is_disabled()
    seen = column(page, 1)
    while following.is_enabled():
        following.click()
        seen += column(page, 1)
    assert sorted(seen) == sorted(run.id for run in RECORDS.runs)
    previous.click()
    assert following.is_enabled()


@pytest.mark.everywhere
def test_runs_are_filtered_by_name_and_id(page):
    page.select_option("#run-filters select >> nth=1", label="mine:Own")
    assert set(column(page, 3)) == {"mine:Own"}
    assert page.locator(STATUS).inner_text() == "1 to 9 of 9 runs"
    wanted = next(run for run in RECORDS.runs if run.mixer == "mine:Own")
    page.fill("#run-filters input", wanted.id[:7])
    assert column(page, 1) == [wanted.id]
    page.fill("#run-filters input", "none")
    assert page.locator(STATUS).inner_text() == "no run fits"


@pytest.mark.everywhere
def test_a_click_sorts_all_runs_not_those_on_the_screen(page):
    header = page.locator("#table-newest-runs thead button")
    scores = [100 * run.metrics.test.value for run in RECORDS.runs if run.metrics.test]
    header.nth(7).click()
    assert column(page, 8) == [f"{score:.1f}" for score in sorted(scores)[:-11:-1]]
    header.nth(7).click()
    assert column(page, 8) == [f"{score:.1f}" for score in sorted(scores)[:10]]
    header.nth(2).click()
    assert set(column(page, 3)) <= set(sorted(MIXERS)[:1])


@pytest.mark.everywhere
def test_only_runs_that_have_a_page_are_links(page):
    links_of = page.locator(f"{ROWS} a").all()
    ids = {link.inner_text() for link in links_of}
    assert ids
    assert len(ids) < 10
    links_of[0].click()
    page.wait_for_url("**/runs/*.html")

"""Suites as tabs: one is open, all are there without a script and on paper."""

import pytest
from browser.test_answer import RECORDS
from representatives import mark_others

SUITES = ["#suite-arena", "#suite-probes"]


def visible(page):
    return [panel for panel in SUITES if page.locator(f"{panel} table").first.is_visible()]


def test_a_click_opens_one_suite_and_closes_the_other(open_tables):
    page = open_tables(RECORDS)
    assert visible(page) == ["#suite-arena"]
    page.click("role=tab[name=Probes]")
    assert visible(page) == ["#suite-probes"]
    assert page.locator("role=tabpanel[name=Probes]").count() == 1


def test_arrows_go_from_tab_to_tab_and_tab_leaves_them(open_tables):
    page = open_tables(RECORDS)
    page.focus("role=tab >> nth=0")
    page.keyboard.press("ArrowRight")
    assert visible(page) == ["#suite-probes"]
    assert page.evaluate("document.activeElement.textContent") == "Probes"
    page.keyboard.press("ArrowRight")
    assert visible(page) == ["#suite-arena"]
    assert page.locator("[role=tab][tabindex='0']").all_inner_texts() == ["Long Range Arena"]
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.role") != "tab"


@pytest.mark.parametrize(
    "target",
    mark_others(
        ["#suite-probes", "#table-scores-probes-quick-free", "#minutes-probes"], ["#minutes-probes"]
    ),
)
def test_a_link_into_a_suite_opens_it(open_tables, target):
    page = open_tables(RECORDS, address=target)
    assert visible(page) == ["#suite-probes"]
    page.evaluate("location.hash = 'suite-arena'")
    page.wait_for_function("!document.getElementById('suite-arena').hidden")
    assert visible(page) == ["#suite-arena"]


@pytest.mark.everywhere
def test_a_task_that_is_chosen_opens_its_suite(open_tables):
    page = open_tables(RECORDS)
    page.select_option("[data-filter=task]", "recall")
    assert visible(page) == ["#suite-probes"]


@pytest.mark.everywhere
def test_charts_of_a_closed_suite_are_drawn_at_full_width(open_page):
    page = open_page(RECORDS)
    page.click("role=tab[name=Probes]")
    widths = page.locator("#suite-probes .plot svg").evaluate_all(
        "all => all.map((svg) => svg.getBoundingClientRect().width)"
    )
    assert min(widths) > 400
    page.emulate_media(media="print")
    assert visible(page) == SUITES


def test_without_a_script_all_suites_stand_there_with_links_to_them(open_tables):
    page = open_tables(RECORDS, java_script_enabled=False)
    assert visible(page) == SUITES
    links = page.locator(".tabs a").all_inner_texts()
    assert links == ["Long Range Arena", "Probes"]
    assert page.locator("role=tab").count() == 0

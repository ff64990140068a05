"""The page as a reader meets it: in a real browser, by eye, mouse and keyboard."""

from pathlib import Path
from statistics import stdev

import pytest
from browser.contrast import CONTRASTS
from report.examples import measure_record, run_record
from report.page.test_page import HOSTILE, hostile_records
from representatives import mark_others

from longarena.records.folder import Records
from longarena.report.formatting import ratio

SCORES = {"transformer": 0.3721, "linear": 0.3384, "mine:Own": 0.1712}
SHORT = ["task.max_length=128"]
RECORDS = Records(
    runs=[
        *(run_record(mixer, seed, score) for mixer, score in SCORES.items() for seed in (0, 1)),
        run_record("transformer", 0, 0.4, SHORT, variant="max_length=128"),
        run_record("linear", 0, 0.5, SHORT, variant="max_length=128"),
        run_record("linear", 0, 0.45, ["steps=1500"]),
    ],
    measurements=[
        measure_record(mixer, length, speed * 1024 / length)
        for mixer, speed in [("transformer", 4.0), ("linear", 6.0), ("mine:Own", 5.0)]
        for length in (1024, 2048)
    ],
)


def cells(page, selector):
    return [text.strip() for text in page.locator(selector).all_inner_texts()]


def mechanisms(page, table="#table-scores-arena-quick"):
    return [text.splitlines()[0] for text in cells(page, f"{table} tbody th")]


def test_the_leaderboard_shows_the_numbers_of_the_records(open_tables):
    page = open_tables(RECORDS)
    shown = cells(page, "#table-scores-arena-quick tbody td:nth-child(2) .value")
    assert shown == [f"{100 * score:.1f}" for score in SCORES.values()]
    assert cells(page, "#table-scores-arena-quick tbody td:nth-child(2) .sub a") == ["2 seeds"] * 3
    spread = f"29.4 ± {100 * stdev(SCORES.values()):.1f}"
    assert cells(page, "#table-scores-arena-quick tfoot td:nth-child(2)") == [spread, "17.0"]
    assert (
        page.locator("#table-scores-arena-quick tbody td:nth-child(2) .mark[role=img]").count() == 2
    )
    assert cells(page, "#table-scores-arena-quick tbody .best") == ["37.2", "37.2", "50.0"]
    assert cells(page, "#table-scores-arena-quick-free tbody td:nth-child(2) .value") == ["45.0"]


@pytest.mark.everywhere
def test_the_cost_tables_show_speed_and_ratio(open_tables):
    page = open_tables(RECORDS)
    linear = page.locator("#table-speed tbody tr", has_text="Linear Transformer")
    assert linear.locator("td").all_inner_texts() == [f"6.00\n{ratio(1.5)}", f"3.00\n{ratio(1.5)}"]


def test_every_chart_is_drawn_with_every_mechanism_named(open_page):
    page = open_page(RECORDS)
    assert page.locator("figure .plot svg").count() == 5
    for name in ("Transformer", "Linear Transformer", "mine:Own"):
        assert page.locator(f"figure[data-chart=speed] svg >> text='{name}'").count() == 1
    assert page.locator("figure[data-chart=speed] svg .mark-symbol.role-mark path").count() == 6


@pytest.mark.everywhere
def test_a_chart_shows_the_column_that_is_chosen(open_page):
    page = open_page(RECORDS)
    dots = page.locator("figure[data-chart=picture] svg .mark-symbol.role-mark path")
    assert dots.count() == 3
    page.select_option("figure[data-chart=picture] select", index=1)
    page.wait_for_function(
        "document.querySelectorAll('[data-chart=picture] .mark-symbol.role-mark path').length < 3"
    )


def test_a_click_sorts_and_another_reverses(open_tables):
    page = open_tables(RECORDS)
    header = page.locator("#table-scores-arena-quick thead th").nth(1)
    header.locator("button").click()
    assert header.get_attribute("aria-sort") == "descending"
    assert mechanisms(page) == ["Transformer", "Linear Transformer", "mine:Own"]
    header.locator("button").click()
    assert header.get_attribute("aria-sort") == "ascending"
    assert mechanisms(page) == ["mine:Own", "Linear Transformer", "Transformer"]


@pytest.mark.everywhere
def test_what_is_missing_is_sorted_last_in_either_direction(open_tables):
    page = open_tables(RECORDS)
    button = page.locator("#table-scores-arena-quick thead th").nth(3).locator("button")
    for _ in range(2):
        button.click()
        assert mechanisms(page)[2] == "mine:Own"


@pytest.mark.everywhere
def test_the_keyboard_reaches_a_header_and_sorts(open_tables):
    page = open_tables(RECORDS)
    page.locator("#table-scores-arena-quick thead th button").first.focus()
    page.keyboard.press("Enter")
    assert mechanisms(page) == ["Linear Transformer", "mine:Own", "Transformer"]
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    sorts = page.locator("#table-scores-arena-quick thead th").evaluate_all(
        "headers => headers.map((header) => header.ariaSort)"
    )
    assert sorts == ["none", "descending", "none", "none"]


def test_the_first_tab_offers_to_skip_to_the_results(open_tables):
    page = open_tables(RECORDS)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the results"


@pytest.mark.everywhere
def test_links_of_the_contents_lead_to_sections(open_tables):
    page = open_tables(RECORDS)
    targets = page.locator("nav a").evaluate_all("links => links.map((a) => a.hash)")
    sections = ["answer", "picture", "leaderboard", "costs", "charts", "families", "beside"]
    assert targets == [f"#{name}" for name in (*sections, "published", "runs", "gallery", "tasks")]
    assert all(page.locator(target).count() == 1 for target in targets)


@pytest.mark.parametrize("width", mark_others([320, 390, 768], [320]))
def test_a_narrow_page_never_scrolls_sideways(open_page, width):
    page = open_page(RECORDS, width=width)
    page.evaluate("document.querySelectorAll('details').forEach((each) => (each.open = true))")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


WITH_WARNINGS = Records(
    runs=[
        run_record("transformer", 0, 0.3),
        run_record("linear", 0, 0.3, parameters=200_000),
        run_record("mine:Own", 0, None),
    ],
    measurements=[*RECORDS.measurements, measure_record("mine:Own", 4096, None)],
    unreadable={Path("broken.json"): "not JSON"},
)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_word_has_contrast(open_page, scheme):
    page = open_page(WITH_WARNINGS, scheme=scheme)
    assert page.locator(".failed").count() == 4
    assert page.locator("td .over").count() == 1
    page.evaluate("document.querySelectorAll('details').forEach((each) => (each.open = true))")
    assert page.evaluate(CONTRASTS) == []


@pytest.mark.everywhere
def test_dark_and_light_differ(open_page):
    colour = "getComputedStyle(document.body).backgroundColor"
    light, dark = (open_page(RECORDS, scheme=scheme) for scheme in ("light", "dark"))
    assert light.evaluate(colour) != dark.evaluate(colour)
    assert light.locator("svg text").first.evaluate("t => getComputedStyle(t).fill") != (
        dark.locator("svg text").first.evaluate("t => getComputedStyle(t).fill")
    )


def test_a_printed_page_is_light_and_shows_every_run(open_page):
    page = open_page(RECORDS, scheme="dark")
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(252, 252, 250)"
    assert page.locator(".box.tall").evaluate("box => getComputedStyle(box).overflowY") == "visible"


def test_html_in_records_is_shown_and_does_nothing(open_page):
    page = open_page(hostile_records())
    assert page.locator("img[src=x]").count() == 0
    assert HOSTILE in page.locator("#table-runs").inner_text()
    page.locator("figure[data-chart=speed] svg .mark-symbol path").first.hover()
    page.locator("#vg-tooltip-element.visible").wait_for()
    assert page.locator("#vg-tooltip-element img").count() == 0


@pytest.mark.everywhere
def test_an_empty_store_opens_too(open_page):
    page = open_page(Records())
    assert "longarena tour" in page.locator("#empty").inner_text()

"""The leaderboard of a whole arena: chosen from by mouse and keyboard, and followed to its runs."""

import pytest
from browser.contrast import CONTRASTS
from report.arena import arena, run
from report.page.test_page import HOSTILE, hostile_records
from representatives import mark_others

from longarena.attention import CARDS
from longarena.records.folder import Records
from longarena.report.page.page import write_page

KERNELS = [card.title for card in CARDS.values() if card.family == "kernels"]


def shown(page, selector):
    return page.locator(f"{selector}:visible")


def visible_headers(page, table):
    return shown(page, f"#{table} thead th button").all_inner_texts()


def choose(page, name, value):
    page.select_option(f"[data-filter={name}]", value)


def test_a_preset_is_chosen(open_tables):
    page = open_tables(arena())
    assert page.locator(".board:visible").count() == 2
    choose(page, "preset", "quick")
    assert page.locator(".board:visible h4").all_inner_texts() == ["Long Range Arena, preset quick"]
    num_quick = sum(record.recipe.preset == "quick" for record in arena().runs)
    assert page.locator("#table-runs tbody tr:visible").count() == num_quick
    assert page.locator("[role=status]").inner_text() == f"{num_quick} of {len(arena().runs)} runs"


@pytest.mark.everywhere
def test_a_task_is_chosen_and_the_others_leave_with_their_averages(open_tables):
    page = open_tables(arena())
    choose(page, "task", "image")
    assert visible_headers(page, "table-scores-arena-small") == ["Mechanism", "Image"]
    assert (
        page.locator("#table-scores-arena-small tfoot tr").first.locator("td:visible").count() == 1
    )
    assert page.locator(".board[data-preset=quick]").is_hidden()
    assert page.locator(".race:visible h5").all_inner_texts() == ["Image (CIFAR-10, grey pixels)"]
    rows = shown(page, "#table-runs tbody tr")
    assert set(rows.evaluate_all("rows => rows.map((row) => row.dataset.task)")) == {"image"}


@pytest.mark.everywhere
def test_a_family_is_chosen(open_tables):
    page = open_tables(arena())
    choose(page, "family", "kernels")
    names = shown(page, "#table-scores-arena-small tbody th").all_inner_texts()
    assert names == [f"{title}\nkernels" for title in KERNELS]


def test_what_was_chosen_outlives_a_reload(open_tables):
    page = open_tables(arena())
    choose(page, "family", "kernels")
    page.reload()
    assert page.locator("[data-filter=family]").input_value() == "kernels"
    assert shown(page, "#table-scores-arena-small tbody th").count() == len(KERNELS)
    page.evaluate("document.querySelector('form.filters').reset()")
    page.wait_for_function("document.querySelector('[role=status]').textContent === ''")
    page.reload()
    assert page.locator("[data-filter=family]").input_value() == ""


@pytest.mark.everywhere
def test_all_comes_back(open_tables):
    page = open_tables(arena())
    before = shown(page, "#table-scores-arena-small td").count()
    for name, value in {"preset": "small", "task": "text", "family": "kernels"}.items():
        choose(page, name, value)
    assert 0 < shown(page, "#table-scores-arena-small td").count() < before
    page.click("text=Show all")
    page.wait_for_function("document.querySelector('[role=status]').textContent === ''")
    assert shown(page, "#table-scores-arena-small td").count() == before


@pytest.mark.everywhere
def test_the_keyboard_chooses_and_opens_a_run(open_tables):
    page = open_tables(arena())
    page.focus("[data-filter=preset]")
    page.keyboard.type("quick")
    assert page.locator(".board:visible").count() == 1
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.dataset.filter") == "task"
    page.focus(".board[data-preset=quick] tbody a >> nth=0")
    page.keyboard.press("Enter")
    page.wait_for_url("**/runs/*.html")


@pytest.mark.everywhere
@pytest.mark.parametrize("selector", ["th > button", "[data-filter=task]", "tbody a", ".box"])
def test_what_has_the_focus_is_seen(open_tables, selector):
    page = open_tables(arena())
    page.focus("nav a >> nth=0")
    page.keyboard.press("Tab")  # from here on the keyboard is in use
    page.focus(f"{selector} >> nth=0")
    outline = "getComputedStyle(document.activeElement).outlineStyle"
    assert page.evaluate(f"{outline} !== 'none'")


@pytest.mark.everywhere
def test_a_number_leads_to_its_run_and_back(open_tables):
    page = open_tables(arena())
    record = next(r for r in arena().runs if r.recipe.model.mixer == "bigbird")
    page.click("#table-scores-arena-small tr:has-text('BigBird') td:nth-child(2) a")
    assert page.locator("h1").inner_text() == "BigBird on ListOps"
    assert record.id in page.locator(".lead").inner_text()
    threads = record.machine.threads
    command = f"longarena train listops bigbird --preset small --seed 0 --threads {threads}"
    assert page.locator("pre").first.inner_text() == command
    page.click("text=The same under other seeds >> a >> nth=0")
    assert "seed 1" in page.locator(".lead").inner_text()
    page.click("text=All results >> nth=0")
    page.wait_for_url("**/index.html#runs")
    assert page.locator("#leaderboard").is_visible()


@pytest.mark.everywhere
def test_what_went_wrong_is_said(open_tables):
    page = open_tables(arena())
    local = page.locator("#table-scores-arena-small tbody tr", has_text="Local Attention").first
    assert "1 collapsed" in local.inner_text()
    assert (
        "1 diverged"
        in page.locator("#table-scores-arena-small tr:has-text('Performer')").inner_text()
    )
    assert page.locator("#table-failures tbody tr").inner_text().endswith(arena().failures[0].error)
    page.click("#table-failures a")
    assert arena().failures[0].error in page.locator("main").inner_text()


@pytest.mark.everywhere
def test_published_numbers_stand_beside_the_official_data_alone(open_tables):
    page = open_tables(arena())
    headings = page.locator("#beside h3").all_inner_texts()
    assert headings == [
        "Long Range Arena, preset small: test accuracy, %, beside the papers",
        "Training speed, relative to the Transformer",
        "Peak memory, relative to the Transformer",
    ]
    bigbird = page.locator("#beside table").first.locator("tr:has-text('BigBird') td")
    assert bigbird.nth(1).inner_text() == "36.05"
    assert page.locator("#beside table").first.locator("thead th").count() == 1 + 6 * 3
    longformer = page.locator("#table-beside-speed tr:has-text('Longformer') td").all_inner_texts()
    assert longformer[1::2] == ["not timed"] * 4


def run_page(open_tables, records, **options):
    page = open_tables(records, **options)
    page.goto(page.locator("#table-runs a >> nth=0").evaluate("a => a.href"))
    return page


@pytest.mark.everywhere
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_word_of_a_run_has_contrast(open_tables, scheme):
    page = run_page(open_tables, arena(), scheme=scheme)
    assert page.locator(".confusion tbody td").count() == 10 * 11
    assert page.locator(".curve polyline").count() == 1
    assert page.evaluate(CONTRASTS) == []


@pytest.mark.parametrize("width", mark_others([320, 768], [320]))
def test_a_run_and_the_whole_arena_never_scroll_sideways(open_page, width):
    page = run_page(open_page, arena(), width=width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.go_back()
    page.evaluate("document.querySelectorAll('details').forEach((each) => (each.open = true))")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.everywhere
def test_html_in_a_run_does_nothing_on_its_page(open_tables):
    page = run_page(open_tables, hostile_records())
    assert HOSTILE in page.locator("body").inner_text()
    assert page.locator("img, script").count() == 0


@pytest.mark.everywhere
def test_a_printed_arena_fits_the_sheet_without_filters(open_page):
    sheet = 1032  # A4 across, between its margins
    page = open_page(arena(), width=sheet)
    page.emulate_media(media="print")
    assert page.locator(".filters").is_hidden()
    assert page.locator(".box.tall").first.evaluate("b => getComputedStyle(b).maxHeight") == "none"
    widths = page.locator("table").evaluate_all("tables => tables.map((t) => t.scrollWidth)")
    assert max(widths) <= sheet


@pytest.mark.everywhere
@pytest.mark.slow
def test_a_thousand_runs_make_a_page_that_is_small_and_opens_soon(chromium, tmp_path):
    tasks = ("listops", "text", "retrieval", "image", "pathfinder")
    mixers = list({record.recipe.model.mixer: 0 for record in arena().runs})
    places = [(task, name) for task in tasks for name in mixers]
    runs = [run(*places[i % len(places)], i // len(places)) for i in range(1000)]
    path = write_page(Records(runs, arena().measurements), tmp_path)
    page = chromium.new_page()
    session = page.context.new_cdp_session(page)
    # time on the processor, which other work on the machine does not stretch
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    page.goto(path.as_uri())
    found = session.send("Performance.getMetrics")["metrics"]
    seconds = {metric["name"]: metric["value"] for metric in found}["TaskDuration"]
    assert page.locator("#table-runs tbody tr").count() == 1000
    assert len(list((tmp_path / "runs").glob("*.html"))) == 1000
    assert path.stat().st_size < 5_000_000
    assert 0 < seconds < 5
    page.close()

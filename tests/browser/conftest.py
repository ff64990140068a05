"""Pages opened in the Chromium of the machine; skipped where there is none."""

import shutil
from functools import partial

import pytest
from playwright.sync_api import sync_playwright

from longarena.report.page.page import write_page

QUIET = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]
# drawing is most of the work of opening a page, and says nothing about its tables
NO_CHARTS = "Object.defineProperty(window, 'vegaEmbed', {get: () => async () => {}, set: () => {}})"
ALL_DRAWN = (
    "document.querySelectorAll('.plot svg').length === document.querySelectorAll('.plot').length"
)


@pytest.fixture(scope="session")
def chromium():
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.skip("no chromium on the path: install it to test the page in a browser")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=QUIET)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def written(tmp_path_factory):
    """Write the page of some records, once for all tests that read it."""
    pages = {}

    def write(records):
        if id(records) not in pages:
            folder = tmp_path_factory.mktemp("page")
            pages[id(records)] = (records, write_page(records, folder))
        return pages[id(records)][1]

    return write


@pytest.fixture
def open_page(chromium, written):
    """Open the page of some records, and see that it stayed quiet to the end."""
    contexts, complaints = [], []

    def open_(records, width=1280, scheme="light", has_charts=True, address="", **options):
        path = written(records)
        own = (path.parent.as_uri(), "data:")
        context = chromium.new_context(
            viewport={"width": width, "height": 900},
            color_scheme=scheme,
            **options,
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(120_000)  # other tests may have all cores
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: complaints.append(dialog.message))
        page.on("request", lambda r: r.url.startswith(own) or complaints.append(r.url))
        if not has_charts:
            page.add_init_script(NO_CHARTS)
        page.goto(path.as_uri() + address)
        if has_charts:
            page.wait_for_function(ALL_DRAWN)
        return page

    yield open_
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.fixture
def open_tables(open_page):
    """Open the page of some records without drawing its charts."""
    return partial(open_page, has_charts=False)

"""The form above the tables: it asks by mouse, keyboard and address, and answers as Python does."""

import pytest
from findings.contestants import runs, scored
from findings.test_answer import MEASUREMENTS, SCORES
from report.answer.test_sentence import generation
from report.arena import run
from report.examples import measure_record

from longarena.findings.answer import Question
from longarena.records.folder import Records
from longarena.report.answer.fragments import fragments
from longarena.report.answer.sentence import speak
from longarena.report.findings import Findings

MIB = 2**20
# the probes have no Transformer, so they are in no order; they have a tab (test_tabs.py)
RECORDS = Records(
    runs=[
        *runs(SCORES),
        *runs({"local": {"text": 0.9}, "s4d": {"listops": 0.37, "text": 0.67}}),
        *runs({"performer": {"listops": 0.3, "text": 0.6}}),
        *(scored("mega", 0.6, task, parameters=168_000) for task in ("listops", "text")),
        *(run("recall", mixer, 0, "quick") for mixer in ("linear", "local")),
    ],
    measurements=[
        *MEASUREMENTS,
        measure_record("performer"),
        measure_record("performer", 4096, None),
    ],
    generations=[generation("linear", 4096, MIB)],
)
QUESTIONS = {
    "": Question(),
    "speed=4": Question(speed_share=1.0),
    "speed=2&decode=yes": Question(speed_share=0.5, must_decode=True),
    "tokens=30000&speed=1": Question(length=30_000, speed_share=0.25),
    "tokens=4096&memory=3": Question(length=4096, max_memory_bytes=3 * MIB),
    "memory=0.5": Question(max_memory_bytes=MIB / 2),
    "speed=2": Question(speed_share=0.5),
    "budget=yes": Question(must_keep_budget=True),
}


def texts(page, selector):
    return [" ".join(text.split()) for text in page.locator(selector).all_text_contents()]


def shown(page):
    """Everything that the page says in answer to the question of its form."""
    lists = ("order", "rest", "aside", "absent")
    items = [texts(page, f"#answer-{name} li > p") for name in lists]
    return (
        texts(page, "#answer-sentence"),
        texts(page, "#answer-other"),
        *items,
        texts(page, "#answer-notes li"),
    )


def expected(question, which=0):
    found = Findings.of(RECORDS)
    said = speak(found, fragments(found), question, which)
    ranked = [each.words for each in said.ranked]
    notes = [f"{n.words}: {n.command}" if n.command else f"{n.words}." for n in said.notes]
    excuses = [each.words for each in said.aside]
    absent = [each.why for each in said.absent]
    return [said.sentence], [said.other], ranked[:5], ranked[5:], excuses, absent, notes


ASK = """(address) => new Promise((done) => {
  addEventListener("hashchange", done, { once: true });
  location.hash = `answer?${address}`;
})"""


def ask(page, address):
    page.evaluate(ASK, address)
    return shown(page)


def test_every_question_is_answered_as_python_answers_it(open_tables):
    page = open_tables(RECORDS)
    answers = {address: ask(page, address) for address in QUESTIONS}
    assert answers == {address: expected(question) for address, question in QUESTIONS.items()}
    assert ask(page, "like=text") == expected(Question(), which=2)


def test_without_a_script_the_same_answer_stands_there(open_tables):
    page = open_tables(RECORDS, java_script_enabled=False)
    assert shown(page) == expected(Question())
    assert page.locator("form.question").is_hidden()
    assert page.locator("#answer-sentence").is_visible()


def test_the_keyboard_asks_and_the_address_keeps_the_question(open_tables):
    page = open_tables(RECORDS)
    before = page.locator("#answer-order strong").all_text_contents()
    page.focus("[name=tokens]")
    page.keyboard.type("4096")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("End")
    assert page.locator("[name=speed]").get_attribute("aria-valuetext") == "the speed"
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    assert page.evaluate("location.hash") == "#answer?tokens=4096&speed=4&decode=yes"
    after = page.locator("#answer-order strong").all_text_contents()
    assert after != before
    page.reload()
    assert page.locator("[name=decode]").is_checked()
    assert page.locator("#answer-order strong").all_text_contents() == after
    page.click("text=Start over")
    page.wait_for_function("location.hash === '#answer'")
    assert page.locator("#answer-order strong").all_text_contents() == before


@pytest.mark.everywhere
def test_an_answer_is_announced_and_every_field_has_a_name(open_tables):
    page = open_tables(RECORDS)
    assert page.locator("[aria-live=polite] #answer-sentence").count() == 1
    for name in ("My data is like", "Length of the inputs", "Memory limit", "What matters more"):
        assert page.get_by_label(name).count() == 1
    for name in ("It must decode, token by token", "Hardly larger than the Transformer"):
        assert page.get_by_role("checkbox", name=name).count() == 1


@pytest.mark.everywhere
@pytest.mark.parametrize(
    "address", ["#answer?tokens=-5&speed=9&like=nothing", "#answer?tokens=x", "#%"]
)
def test_an_address_that_makes_no_sense_does_no_harm(open_tables, address):
    page = open_tables(RECORDS, address=address)
    assert page.locator("#answer-sentence").inner_text().startswith("Take ")

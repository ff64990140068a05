"""There is a page for any records; one that cannot be shown is named on it."""

import pytest
from choose.choices import usual
from records.test_folder import record
from report.examples import measure_record

from longarena.records.folder import Records, write_record
from longarena.report.page import page
from longarena.report.page.page import write_page
from longarena.report.showable import shown


def records(number):
    return Records(runs=[record(id=f"run-{i}") for i in range(number)])


def made(some):
    if any(run.id in ("run-3", "run-6") for run in some.runs):
        raise ZeroDivisionError("none of\nthese")
    return [run.id for run in some.runs]


def test_those_that_cannot_be_shown_are_found_and_named():
    found, kept = shown(records(9), made)
    assert found == [f"run-{i}" for i in range(9) if i not in (3, 6)]
    assert {str(path) for path in kept.unreadable} == {"run/run-3", "run/run-6"}
    assert set(kept.unreadable.values()) == {"cannot be shown: none of these"}


def test_choices_stay_when_something_is_left_out():
    some = Records(runs=records(4).runs, choices=[usual()])
    assert shown(some, made)[1].choices == [usual()]


def test_records_that_fail_only_together_are_shown_without_the_last_of_them():
    def make(some):
        if len(some.runs) > 4:
            raise KeyError("too many")
        return len(some.runs)

    found, kept = shown(records(6), make)
    assert found == 4
    assert len(kept.unreadable) == 2


def test_a_mistake_of_the_program_is_not_blamed_on_records():
    def make(some):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        shown(records(2), make)


def test_the_page_names_what_it_leaves_out(tmp_path, monkeypatch):
    advise = page.run_pages

    def fail(lines):
        if any(line.record.id == "bad" for line in lines):
            raise ZeroDivisionError("no examples")
        return advise(lines)

    monkeypatch.setattr(page, "run_pages", fail)
    found = Records(runs=[record(), record(id="bad")])
    text = write_page(found, tmp_path).read_text()
    assert "cannot be shown: no examples" in text
    assert [str(path) for path in found.unreadable] == ["run/bad"]


@pytest.mark.parametrize(
    "changes",
    [
        {"variant": "\x1b[31m<script>"},
        {"finished_at": "never"},
        {"fingerprint": ""},
        {"status": "diverged"},
    ],
    ids=str,
)
def test_strange_records_have_a_page(tmp_path, changes):
    task = record().recipe.task.model_copy(update={"name": "no-such-task", "version": 99})
    recipe = record().recipe.model_copy(update={"task": task, "preset": "none"})
    strange = record(recipe=recipe, **changes)
    text = write_page(Records(runs=[strange, record()]), tmp_path).read_text()
    assert "cannot be shown" not in text


def test_a_terminal_gets_no_control_characters(run, tmp_path):
    strange = record(variant="\x1b[31m", finished_at="\x1b]0;title\x07\u202e", id="strange")
    machine = strange.machine.model_copy(update={"processor": "\x1b[2J\x9b"})
    write_record(tmp_path / "store", strange.model_copy(update={"machine": machine}))
    for words in (["show", "run", "strange", "--store"], ["store", "check"]):
        _, output, errors = run(*words, str(tmp_path / "store"))
        assert all(c.isprintable() or c in "\n\t" for c in output + errors)


@pytest.mark.parametrize("what", [("length", 0), ("batch_size", 0)])
def test_measurements_have_sizes(what):
    with pytest.raises(ValueError, match="greater than 0"):
        type(measure_record("linear")).model_validate(
            measure_record("linear").model_dump() | dict([what])
        )

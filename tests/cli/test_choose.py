"""`longarena choose` as a user types it; the runs are trained in this process."""

import json
import shlex
from contextlib import nullcontext
from importlib import import_module
from pathlib import Path

import pytest
from choose.contests import SHORT, pretend_speeds
from cli.commands import assert_refused
from sweep.crews import InlineCrew

from longarena.measure.speed import StoppingRule
from longarena.records.folder import read_records

WORDS = ["choose", "listops", "--only", "linear,transformer", "--quiet"]
SETS = [word for change in SHORT for word in ("--set", change)]


@pytest.fixture
def inline(monkeypatch):
    """Train in this process, so that no worker has to start."""
    inline = lambda *_: lambda places: nullcontext(InlineCrew(places))  # noqa: E731
    monkeypatch.setattr(import_module("longarena.sweep"), "local", inline)


@pytest.mark.slow
def test_the_verdict_comes_with_a_page_and_commands_that_work(run, inline, hasty, monkeypatch):
    # one real look at the speeds, and a short one
    rule = StoppingRule(turn_seconds=0.02, min_turns=1, max_turns=1)
    speed, verdict = map(import_module, ("longarena.choose.speed", "longarena.choose.verdict"))
    monkeypatch.setattr(speed, "StoppingRule", lambda **_: rule)
    # whatever was learnt in 16 steps is taken
    monkeypatch.setattr(verdict, "is_significant", lambda *_: True)
    code, output, errors = run(*WORDS, *SETS)
    assert (code, errors) == (0, "")
    assert "take " in output
    assert "one seed" in output
    found = read_records(Path("choose/listops/records"))
    assert len(found.runs) == 2
    assert {record.session[-6:] for record in found.measurements} >= {"-final"}
    page = Path("choose/listops/index.html").read_text()
    assert 'id="answer"' in page
    code, again, _ = run(*WORDS, *SETS, "--json")
    facts = json.loads(again)
    assert code == 0
    assert facts["sentence"] in output
    # what is to be typed next works, in a folder of its own, and Python does the same
    assert facts["command"] in output
    code, trained, _ = run(*shlex.split(facts["command"])[1:], "--quiet", "--json")
    assert code == 0
    names = {}
    exec("\n".join(facts["python"][:-1]), names)
    assert names["record"].id == json.loads(trained)["id"] == found.choices[0].recipe.id


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (["choose", "nothing"], "unknown task 'nothing'"),
        (["choose", "nothing.csv"], "nothing.csv"),
        ([*WORDS, "--preset", "own"], "preset own has a recipe per mechanism"),
        ([*WORDS, "--preset", "fast"], "unknown preset 'fast'"),
        ([*WORDS, "--minutes", "0"], "--minutes 0 is no time"),
        ([*WORDS, "--minutes", "inf"], "--minutes inf is no time"),
        ([*WORDS, "--minutes", "soon"], "should be a valid number"),
        ([*WORDS, "--max-memory", "much"], "--max-memory 'much' is not a number above zero"),
        ([*WORDS, "--must", "sing"], "sing"),
        ([*WORDS, "--without", "linear"], "only transformer is left to compare"),
        ([*WORDS, "--set", "evaluate_every=3"], "evaluate_every is decided by the contest"),
        ([*WORDS, "--set", "steps=4"], "steps=4 is too few"),
        ([*WORDS, "--set", "nonsense=4"], "unknown recipe key 'nonsense'"),
    ],
)
def test_a_question_that_cannot_be_answered_is_refused_in_a_line(run, words, answer):
    assert_refused(run(*words), answer)
    assert not Path("choose").exists()


def test_too_few_minutes_are_refused_with_how_many_it_takes(run, inline, monkeypatch):
    pretend_speeds(monkeypatch, {"linear": 1.0, "transformer": 2.0})
    sets = [word.replace("steps=16", "steps=1000") for word in SETS]
    ended = run(*WORDS, *sets, "--minutes", "1")
    assert_refused(ended, "--minutes 1 is too short: even linear and transformer alone need")

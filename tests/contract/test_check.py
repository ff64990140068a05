"""`longarena check` finds what a user's own mixer breaks, and nothing else."""

import json

import pytest

from longarena.contract import check as contract
from longarena.contract.check import CAUSAL, DEVICE, FIRST, GROWTH, LARGEST, PROMISES

OWN = "attention.own_mixers"


@pytest.fixture(autouse=True)
def no_process(request, monkeypatch):
    """Leave out the device, which takes a process, unless a test asks for it."""
    if not request.node.get_closest_marker("slow"):
        monkeypatch.setattr(contract, "check_device", lambda *_, **__: None)


def broken(name):
    found = {each.promise: each for each in contract.check(f"{OWN}:{name}")}
    assert tuple(found) == PROMISES
    return {title: each.reason for title, each in found.items() if each.state == "broken"}


@pytest.mark.parametrize("name", [f"{OWN}:Mean", "linear", "fnet"])
def test_a_good_mixer_breaks_nothing(name):
    found = list(contract.check(name))
    assert not [each for each in found if each.state == "broken"]
    assert [each.promise for each in found] == list(PROMISES)


@pytest.mark.parametrize(
    ("name", "promises", "why"),
    [
        ("SeesPadding", {"padding is never seen", "more padding changes nothing"}, "noise in"),
        ("SeesTheBatch", {"alone as in a batch"}, "alone and in a batch"),
        ("Random", {"fixed in evaluation", "the same seed, the same answer"}, "eval mode"),
        ("Untrained", {"every parameter is trained"}, "forgotten"),
        ("Unsaved", {"saved and loaded"}, "register a buffer"),
        ("AllPairs", {GROWTH, LARGEST}, "all pairs"),
        ("LooksAhead", {"causal: no later token is seen"}, "later token"),
        ("NanGradient", {"a row of padding alone is finite"}, "not finite"),
    ],
)
def test_what_is_broken_is_found_with_the_reason(name, promises, why):
    found = broken(name)
    assert promises <= set(found)
    assert why in " ".join(found.values())


@pytest.mark.parametrize("name", ["Raises", "WrongSignature", "WrongInit", "WrongShape", "Tuple"])
def test_what_gives_no_answer_is_not_tried_further(name):
    outcomes = list(contract.check(f"{OWN}:{name}"))
    assert (outcomes[0].promise, outcomes[0].state) == (FIRST, "broken")
    assert f"{OWN}:{name}" in outcomes[0].reason
    assert {each.state for each in outcomes[1:]} == {"not tried"}


def test_causality_is_tried_only_where_it_is_claimed():
    outcomes = {each.promise: each for each in contract.check(f"{OWN}:Mean")}
    assert {outcomes[title].state for title in CAUSAL} == {"not tried"}


@pytest.mark.slow
def test_what_is_left_on_the_host_is_found():
    found = broken("LeftBehind")
    assert list(found) == [DEVICE]
    assert "wrong device" in found[DEVICE]


def test_the_command_ends_with_1_where_something_is_broken(run):
    code, output, _ = run("check", f"{OWN}:SeesPadding", "--json", "--quiet")
    assert code == 1
    states = {each["promise"]: each["state"] for each in json.loads(output)["promises"]}
    assert states["padding is never seen"] == "broken"
    code, output, _ = run("check", f"{OWN}:Mean", "--quiet")
    assert code == 0
    assert "0 of" in output

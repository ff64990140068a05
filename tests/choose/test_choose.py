"""Whole contests, with runs that are trained in this process or only judged."""

import time
from importlib import import_module

import pytest
from choose.contests import SPEEDS, hold, pretend_speeds, question, scoring
from sweep.crews import FAILED, InlineCrew

from longarena.choose.question import gather
from longarena.choose.speed import Data
from longarena.errors import UserError
from longarena.progress import Progress
from longarena.records.folder import read_records
from longarena.training.stop import Interrupted

FOUR = ("linear", "local", "s4d", "transformer")
DATA = Data(length=40, valid_examples=10, test_examples=10, num_sequences=1, fingerprint="0" * 16)


@pytest.fixture
def without_data(monkeypatch):
    """Neither data nor speeds are looked at."""
    # the package has a function `choose`, which hides the folder from a dotted name
    monkeypatch.setattr(import_module("longarena.choose"), "look_at", lambda *_: DATA)
    pretend_speeds(monkeypatch)


def fates(record):
    return {each.mixer: each.fate for each in record.entrants}


def test_the_fastest_of_those_tied_with_the_best_is_taken(tmp_path, without_data):
    crew = scoring(linear=0.5, local=0.79, s4d=0.8, transformer=0.8)
    record, crew = hold(question(*FOUR), tmp_path, crew)
    assert record.taken == "local"
    assert fates(record) == {"linear": "dropped", **dict.fromkeys(FOUR[1:], "final")}
    linear, *finalists = record.entrants
    assert (linear.scores, linear.tested) == ([0.5], None)
    assert [each.tested.to_best.is_tie for each in finalists] == [True] * 3
    assert record.rungs == [2, 4, 8, 16]
    # three rates for each, then one run for each that is left
    steps = [step for _, step in crew.done]
    assert steps == [2] * 12 + [4] * 3 + [8] * 3 + [None] * 3


def test_only_what_is_better_than_no_model_is_taken(tmp_path, without_data):
    record, _ = hold(question(*FOUR), tmp_path, scoring(**dict.fromkeys(FOUR, 0.21)))
    assert record.taken == ""
    assert record.recipe is None


def test_the_recipe_that_trains_it_fully_has_the_rate_that_it_kept(tmp_path, without_data):
    record, _ = hold(
        question(*FOUR), tmp_path, scoring(linear=0.9, local=0.1, s4d=0.1, transformer=0.1)
    )
    rate = next(each.rate for each in record.entrants if each.mixer == "linear")
    assert (record.recipe.optimiser.rate, record.recipe.steps) == (rate, 32)


def test_an_answer_is_read_and_not_found_again(tmp_path, without_data):
    crew = scoring(**dict.fromkeys(FOUR, 0.8))
    record, _ = hold(question(*FOUR), tmp_path, crew)
    again, crew = hold(question(*FOUR), tmp_path, InlineCrew)
    assert again == record
    assert crew is None
    assert read_records(tmp_path / "records").choices == [record]


def test_who_failed_is_told_with_the_reason(tmp_path, without_data):
    class Unlucky(scoring(**dict.fromkeys(FOUR, 0.8))):
        def start(self, recipe, until=None):
            super().start(recipe, until)
            if recipe.model.mixer == "s4d":
                self.over[-1] = (recipe, FAILED)

    record, _ = hold(question(*FOUR), tmp_path, Unlucky)
    reasons = {each.mixer: each.reason for each in record.entrants}
    assert reasons["s4d"] == "failed (ValueError: no luck) by step 2"
    assert record.taken == "linear"


def test_who_is_too_large_or_was_not_measured_is_left_out(tmp_path, without_data, monkeypatch):
    pretend_speeds(monkeypatch, {name: SPEEDS[name] for name in ("linear", "local", "s4d")})
    crew = scoring(**dict.fromkeys(FOUR, 0.8))
    record, _ = hold(question(*FOUR), tmp_path, crew)
    assert fates(record)["transformer"] == "left out"
    assert "no time to measure" in record.entrants[-1].reason
    with pytest.raises(UserError, match=r"no mechanism is left.*above --max-memory 1K"):
        hold(question(*FOUR[:3], max_memory_bytes=1000), tmp_path / "small", crew)


def test_the_steps_are_written_down_and_kept(tmp_path, without_data, monkeypatch):
    class Stopping(scoring(**dict.fromkeys(FOUR, 0.8))):
        def start(self, recipe, until=None):
            if until == 4:
                raise Interrupted("stopped")
            super().start(recipe, until)

    with pytest.raises(Interrupted):
        hold(question(*FOUR), tmp_path, Stopping)
    # the machine is a thousand times slower now
    pretend_speeds(monkeypatch, {name: 1000 * seconds for name, seconds in SPEEDS.items()})
    record, _ = hold(question(*FOUR), tmp_path, scoring(**dict.fromkeys(FOUR, 0.8)))
    assert record.steps == 16


@pytest.fixture
def clock(monkeypatch):
    """A clock that a test can put forward."""
    ahead, now = [0.0], time.monotonic
    monkeypatch.setattr(time, "monotonic", lambda: now() + ahead[0])
    return ahead


def test_where_time_is_short_fewer_go_on_and_a_resumed_contest_agrees(
    tmp_path, without_data, clock
):
    judged = scoring(linear=0.5, local=0.6, s4d=0.7, transformer=0.4)
    in_time, _ = hold(question(*FOUR), tmp_path / "in time", judged)
    assert fates(in_time)["linear"] == "final"

    class Slow(judged):
        def start(self, recipe, until=None):
            if until == 4:
                raise KeyboardInterrupt
            clock[0] += 100 if until == 2 else 0
            super().start(recipe, until)

    with pytest.raises(KeyboardInterrupt):
        hold(question(*FOUR), tmp_path / "slow", Slow)
    clock[0] = 0.0
    resumed, _ = hold(question(*FOUR), tmp_path / "slow", judged)
    assert fates(resumed)["linear"] == "dropped"


class Killed(InlineCrew):
    """Dies in the middle of the contest, as by kill -9."""

    def start(self, recipe, until=None):
        if len(self.done) == 4:
            raise KeyboardInterrupt
        super().start(recipe, until)


def without_times(record):
    return record.model_copy(update={"finished_at": ""})


@pytest.mark.slow
def test_a_killed_contest_goes_on_to_the_same_verdict(tmp_path, monkeypatch):
    pretend_speeds(monkeypatch)
    asked = question("linear", "transformer")
    with pytest.raises(KeyboardInterrupt):
        hold(asked, tmp_path / "killed", Killed)
    resumed, crew = hold(asked, tmp_path / "killed")
    # what was tried before was not tried again
    assert [step for _, step in crew.done] == [2] * 2 + [4] * 2 + [8] * 2 + [None] * 2
    whole, crew = hold(asked, tmp_path / "whole")
    assert len(crew.done) == 12
    assert without_times(resumed) == without_times(whole)
    assert all(each.tested for each in whole.entrants)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (question("linear"), "only linear is left to compare"),
        (question("linear", "local", without=("local",)), "local: excluded by --without"),
        (question("linear", "fnet", must_decode=True), "fnet: --must decode: cannot be causal"),
        (question("linear", "local", max_mult_adds=1000), "more than --max-mult-adds 1K"),
        (question("linear", "nonsense"), "unknown mixer 'nonsense'"),
        (question("linear", "local", without=("nonsense",)), "unknown mixer 'nonsense'"),
        (question("linear", "local", minutes=0), "--minutes 0 is no time"),
    ],
)
def test_what_leaves_nobody_to_compare_is_refused(asked, words):
    with pytest.raises(UserError, match=words):
        gather(asked)


def test_all_of_the_table_enter_and_constraints_leave_out_with_reasons():
    found = gather(question(must_decode=True, without=("linear",)))
    assert {"transformer", "local"} <= set(found.recipes)
    assert found.left_out["linear"] == "excluded by --without"
    assert found.left_out["fnet"].startswith("--must decode: cannot be causal")
    assert not set(found.recipes) & set(found.left_out)


class Lines(Progress):
    def __init__(self):
        self.lines = []

    def say(self, line):
        self.lines.append(line)


def test_every_stage_tells_the_time_that_is_used_and_left(tmp_path, without_data):
    progress = Lines()
    hold(question(*FOUR), tmp_path, scoring(**dict.fromkeys(FOUR, 0.8)), progress=progress)
    stages = [line for line in progress.lines if "used, about" in line]
    assert [stage.partition(":")[0] for stage in stages] == [
        "rung 1 of 4",
        "rung 2 of 4",
        "rung 3 of 4",
        "final",
    ]
    assert "at 40 tokens, which 95% of the examples do not exceed" in progress.lines[0]

"""Tuning in this process: real runs, or a crew that only pretends to train (JudgedCrew)."""

import functools
import itertools
import os
import signal
from contextlib import contextmanager

import pytest
from records.test_folder import record
from sweep.crews import FAILED, InlineCrew, JudgedCrew
from training.runs import small_recipe
from training.test_loop import without_clock

from longarena.data.dataset import Dataset
from longarena.records.folder import read_records, write_record
from longarena.records.record import Curve
from longarena.sweep import tune
from longarena.training import run as run_module
from longarena.training.folder import RunFolder
from longarena.training.loop import train

RATES = [1e-3, 1e-2, 1e-1, 1.0]
# validations at 5, 10, 15 and 20 steps; the last rate diverges at once
CURVES = {1e-3: [0.1] * 4, 1e-2: [0.2, 0.4, 0.4, 0.4], 1e-1: [0.3] * 4, 1.0: [None] * 4}
LINEAR, LOCAL = (small_recipe(m, "steps=20", "evaluate_every=5") for m in ("linear", "local"))
# for real runs: the first diverges, so the second is chosen
WILD = [1e30, 1e-2]
SHORT = small_recipe("linear", "seed=1")


def at(rate, recipe=LINEAR):
    optimiser = recipe.optimiser.model_copy(update={"rate": rate})
    return recipe.model_copy(update={"optimiser": optimiser})


def tune_with(crew, folder, recipes=(LINEAR,), rates=RATES, **options):
    """Tune with one crew; return what came of it, and the crew."""
    hands = []

    @contextmanager
    def gather(places):
        hands.append(crew(places))
        yield hands[0]

    grid = {"optimiser.rate": rates}
    return tune(list(recipes), grid, folder / "runs", crew=gather, **options), hands[0]


def judged(curves=CURVES):
    return functools.partial(JudgedCrew, curve=lambda recipe: curves[recipe.optimiser.rate])


def tried(crew, recipe=LINEAR):
    """The steps that the runs of every rate were brought to; None is the end, with a test."""
    return {rate: [step for run, step in crew.done if run == at(rate, recipe).id] for rate in RATES}


def chosen(done):
    return [choice.chosen.values["optimiser.rate"] for choice in done.choices]


def test_without_halving_all_are_tried_to_their_last_step(tmp_path):
    done, crew = tune_with(judged(), tmp_path)
    assert tried(crew) == {1e-3: [20], 1e-2: [20, None], 1e-1: [20], 1.0: [20]}
    (choice,) = done.choices
    assert chosen(done) == [1e-2]
    assert [each.scores for each in choice.candidates] == [[0.1], [0.4], [0.3], [None]]


def test_halving_stops_all_but_the_best_at_half_of_the_steps(tmp_path):
    done, crew = tune_with(judged(), tmp_path, halve=True)
    assert tried(crew) == {1e-3: [10], 1e-2: [10, None], 1e-1: [10], 1.0: [10]}
    (choice,) = done.choices
    assert choice.rungs == [10]
    assert [each.scores for each in choice.candidates] == [[0.1], [0.4], [0.3], [None]]
    assert choice.budget == 4 * 10


def test_every_mechanism_gets_the_same_budget(tmp_path):
    def curve(recipe):
        return CURVES[recipe.optimiser.rate if recipe.model.mixer == "linear" else 1e-2]

    crew = functools.partial(JudgedCrew, curve=curve)
    done, _ = tune_with(crew, tmp_path, [LINEAR, LOCAL], halve=True)
    assert chosen(done) == [1e-2, 1e-3]
    linear, local = done.choices
    assert (linear.budget, linear.rungs, linear.grid) == (local.budget, local.rungs, local.grid)


def test_of_equal_ones_the_first_of_the_grid_is_chosen_and_of_none_too(tmp_path):
    equal = dict.fromkeys(RATES, [0.2] * 4)
    assert chosen(tune_with(judged(equal), tmp_path / "equal")[0]) == [1e-3]
    lost = dict.fromkeys(RATES, [None] * 4)
    assert chosen(tune_with(judged(lost), tmp_path / "lost", halve=True)[0]) == [1e-3]


def test_one_that_diverges_later_loses_against_a_worse_one(tmp_path):
    curves = {1e-3: [0.1] * 4, 1e-2: [0.4, 0.4, 0.4, None]}
    done, _ = tune_with(judged(curves), tmp_path, rates=[1e-3, 1e-2])
    assert chosen(done) == [1e-3]


def write_finished(folder, rate, valid, test):
    """Write the record of a run that somebody trained and tested before."""
    recipe, plain = at(rate), record()
    score = plain.metrics.test.model_copy(update={"value": test})
    metrics = plain.metrics.model_copy(update={"test": score, "steps": 20})
    curve = Curve(steps=[5, 10, 15, 20], seconds=[1.0] * 4, values=[valid] * 4)
    found = record(recipe=recipe, id=recipe.id, metrics=metrics, curve=curve)
    return write_record(folder / "runs" / "records", found)


def test_validation_chooses_not_the_test(tmp_path):
    paths = [write_finished(tmp_path, 1e-3, 0.4, 0.1), write_finished(tmp_path, 1e-2, 0.3, 0.9)]
    before = [path.read_bytes() for path in paths]
    done, crew = tune_with(judged(), tmp_path, rates=[1e-3, 1e-2])
    assert chosen(done) == [1e-3]
    # nobody who looks at the trials sees a test score
    assert [entry.record for entry in done.trials] == [None, None]
    # what is known is not trained again, and no record is touched
    assert crew.done == []
    assert [path.read_bytes() for path in paths] == before


def test_the_first_seed_is_tuned_and_all_are_trained_with_its_choice(tmp_path):
    seeds = [LINEAR.model_copy(update={"seed": seed}) for seed in range(3)]
    done, crew = tune_with(judged(), tmp_path, seeds)
    assert [step for run, step in crew.done] == [20] * 4 + [None] * 3
    runs = [entry.planned.recipe for entry in done.sweep.entries]
    assert [(run.seed, run.optimiser.rate) for run in runs] == [(0, 1e-2), (1, 1e-2), (2, 1e-2)]


def test_a_tuning_that_was_done_is_not_done_again(tmp_path):
    tune_with(judged(), tmp_path)
    (path,) = tmp_path.glob("runs/records/tuning/linear/*.json")
    before = path.read_bytes()
    done, crew = tune_with(judged(), tmp_path)
    assert all(step is None for _, step in crew.done)
    assert chosen(done) == [1e-2]
    assert path.read_bytes() == before


def test_where_a_candidate_failed_nothing_is_chosen_and_others_go_on(tmp_path):
    class Unlucky(JudgedCrew):
        def start(self, recipe, until=None):
            super().start(recipe, until)
            if (recipe.model.mixer, recipe.optimiser.rate) == ("linear", 1e-3):
                self.over[-1] = (recipe, FAILED)

    crew = functools.partial(Unlucky, curve=lambda recipe: CURVES[recipe.optimiser.rate])
    done, _ = tune_with(crew, tmp_path, [LINEAR, LOCAL])
    assert [choice.recipe.model.mixer for choice in done.choices] == ["local"]
    assert [entry.standing for entry in done.sweep.entries] == ["failed", "finished"]
    # no later success of a trial would take its place
    assert read_records(tmp_path / "runs" / "records").failures == []


@pytest.fixture
def splits(monkeypatch):
    """Note which splits are read."""
    read, split = [], Dataset.split

    def note(self, name):
        read.append(name)
        return split(self, name)

    monkeypatch.setattr(Dataset, "split", note)
    return read


def test_the_test_split_is_read_for_the_chosen_one_only(tmp_path, splits):
    read = {}

    class Noting(InlineCrew):
        def start(self, recipe, until=None):
            splits.clear()
            super().start(recipe, until)
            read[recipe.optimiser.rate, until] = "test" in splits

    done, _ = tune_with(Noting, tmp_path, [SHORT], WILD)
    assert chosen(done) == [1e-2]
    assert read == {(1e30, 12): False, (1e-2, 12): False, (1e-2, None): True}


def test_the_chosen_run_ends_like_one_that_nobody_tuned(tmp_path):
    done, _ = tune_with(InlineCrew, tmp_path, [SHORT], WILD, halve=True)
    assert done.choices[0].rungs == [10]
    found = read_records(tmp_path / "runs" / "records")
    assert [run.id for run in found.runs] == [at(1e-2, SHORT).id]
    plain = train(at(1e-2, SHORT), tmp_path / "plain")
    assert without_clock(found.runs[0]) == without_clock(plain)
    assert found.tunings == done.choices


class Killed(Exception):
    pass


# ten steps of each, and the last two of the better one
@pytest.mark.parametrize("step", [8, 14])
def test_a_killed_tuning_goes_on_and_chooses_the_same(tmp_path, monkeypatch, step):
    rates = [1e-2, 3e-2]
    whole, _ = tune_with(InlineCrew, tmp_path / "whole", [SHORT], rates, halve=True)
    take_step, count = run_module.take_step, itertools.count()

    def die(*words):
        if next(count) == step:
            raise Killed
        return take_step(*words)

    monkeypatch.setattr(run_module, "take_step", die)
    with pytest.raises(Killed):
        tune_with(InlineCrew, tmp_path / "broken", [SHORT], rates, halve=True)
    done, _ = tune_with(InlineCrew, tmp_path / "broken", [SHORT], rates, halve=True)
    assert done.choices[0].candidates == whole.choices[0].candidates
    assert chosen(done) == chosen(whole)
    # the step at which it died, and at most one more since the last checkpoint, were taken again
    assert next(count) - 22 in (1, 2)
    ends = [read_records(tmp_path / name / "runs" / "records").runs for name in ("whole", "broken")]
    assert without_clock(ends[0][0]) == without_clock(ends[1][0])


def test_a_trial_that_has_got_further_is_judged_by_what_it_had_then(tmp_path):
    train(at(1e-2, SHORT), tmp_path / "runs", store=tmp_path / "elsewhere")
    folder = RunFolder.of(tmp_path / "runs", at(1e-2, SHORT))
    done, crew = tune_with(InlineCrew, tmp_path, [SHORT], WILD, halve=True)
    found = folder.read_record()
    assert done.choices[0].chosen.scores == [max(found.curve.values[:2])]
    assert [step for _, step in crew.done] == [10]


def test_a_stop_keeps_what_was_tried_and_chooses_nothing(tmp_path):
    class Stopped(JudgedCrew):
        def start(self, recipe, until=None):
            super().start(recipe, until)
            os.kill(os.getpid(), signal.SIGTERM)

        def stop(self):
            """Nothing is under way."""

    crew = functools.partial(Stopped, curve=lambda recipe: CURVES[recipe.optimiser.rate])
    done, _ = tune_with(crew, tmp_path)
    assert [entry.standing for entry in done.sweep.entries] == ["finished"] + ["stopped"] * 3
    assert done.choices == []
    assert not list(tmp_path.glob("runs/records/tuning"))
    assert chosen(tune_with(judged(), tmp_path)[0]) == [1e-2]

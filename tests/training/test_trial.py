import pytest
from training.runs import small_recipe
from training.test_loop import lines, train_until, without_clock

from longarena.data.files import locked
from longarena.errors import Busy
from longarena.tracks.metric import ACCURACY
from longarena.training.folder import RunFolder
from longarena.training.loop import train
from longarena.training.trial import Trial, read_trial, try_until


@pytest.fixture
def runs(tmp_path):
    return tmp_path / "runs"


def test_a_trial_stops_at_its_step_untested_and_goes_on_to_the_same_end(runs, tmp_path):
    recipe, folder = small_recipe(), RunFolder.of(runs, small_recipe())
    for step in (5, 10, 12):
        found = try_until(recipe, step, runs)
        assert (found.step, found.curve_steps[-1]) == (step, step)
        assert found == read_trial(folder, recipe)
        assert folder.read_record() is None
    record, plain = train(recipe, runs), train(recipe, tmp_path / "plain")
    assert without_clock(record) == without_clock(plain)
    assert [line["step"] for line in lines(folder) if "valid_loss" in line] == [5, 10, 12]


def test_a_trial_that_has_got_there_is_only_read(runs, monkeypatch):
    recipe = small_recipe()
    first = try_until(recipe, 5, runs)
    monkeypatch.setattr("longarena.training.run.take_step", lambda *_: pytest.fail("trained again"))
    assert try_until(recipe, 5, runs) == first


def test_the_trial_of_a_finished_run_is_its_record(runs):
    record = train(small_recipe(), runs)
    found = try_until(small_recipe(), 5, runs)
    assert found == Trial.of_record(record)
    assert found.has_reached(10**6)


def test_a_trial_that_diverges_says_so_and_has_no_score(runs):
    found = try_until(small_recipe("linear", "optimiser.rate=1e30"), 12, runs)
    assert (found.has_ended, found.has_diverged) == (True, True)
    assert found.best_by(12, ACCURACY) is None


def test_a_score_is_the_best_so_far_of_a_run_that_had_not_yet_diverged():
    curve = {"curve_steps": [5, 10, 15], "curve_values": [0.3, 0.2, 0.4]}
    found = Trial(step=17, **curve, has_ended=True, has_diverged=True)
    assert [found.best_by(step, ACCURACY) for step in (4, 10, 15, 17)] == [None, 0.3, 0.4, None]
    less = ACCURACY.model_copy(update={"better": "less"})
    assert found.best_by(15, less) == 0.2


def test_a_run_without_patience_left_has_ended_for_a_trial_too(runs):
    recipe = small_recipe("linear", "patience=1", "evaluate_every=1", "optimiser.rate=1e-9")
    found = try_until(recipe, 12, runs)
    assert found.has_ended
    assert not found.has_diverged
    assert found.step < 12
    assert read_trial(RunFolder.of(runs, recipe), recipe) == found


def test_a_stopped_run_is_a_trial_that_has_not_got_there(runs):
    train_until(7, small_recipe(), runs)
    found = read_trial(RunFolder.of(runs, small_recipe()), small_recipe())
    assert (found.step, found.has_reached(5), found.has_reached(10)) == (7, True, False)


@pytest.mark.parametrize("text", ["", "[]", '{"step": "far"}'])
def test_a_checkpoint_that_cannot_be_read_is_no_trial(runs, text):
    folder = RunFolder.of(runs, small_recipe())
    assert read_trial(folder, small_recipe()) is None
    folder.checkpoints.mkdir(parents=True)
    (folder.checkpoints / "step-00000004.json").write_text(text)
    assert read_trial(folder, small_recipe()) is None


def test_a_run_in_use_is_not_tried(runs):
    folder = RunFolder.of(runs, small_recipe())
    with locked(folder.lock, "unused"), pytest.raises(Busy, match="in use by another process"):
        try_until(small_recipe(), 5, runs)

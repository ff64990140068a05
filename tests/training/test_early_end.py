"""A run whose validation no longer gets better ends, wherever it was stopped before."""

import json

import pytest
from training.runs import small_recipe
from training.test_loop import train_until, without_clock

from longarena.training import run as run_module
from longarena.training.folder import RunFolder
from longarena.training.loop import train

RECIPE = small_recipe("linear", "evaluate_every=1", "patience=3", "checkpoint_every=1", "steps=40")


@pytest.fixture(autouse=True)
def best_at_step_four(monkeypatch):
    """Validation gets better until step 4 and never after."""
    judge, validate = run_module.split_score, run_module.Run._validate

    def scored_by_step(self):
        def scored(tally):
            return judge(tally).model_copy(update={"value": min(self.state.step, 4) / 10})

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(run_module, "split_score", scored)
            return validate(self)

    monkeypatch.setattr(run_module.Run, "_validate", scored_by_step)


def test_it_ends_when_patience_is_over(tmp_path):
    record = train(RECIPE, tmp_path)
    assert (record.metrics.best_step, record.metrics.steps) == (4, 7)
    assert record.status in {"finished", "collapsed"}
    assert record.metrics.test is not None


def test_a_run_stopped_at_its_last_step_does_not_go_on(tmp_path):
    unbroken = train(RECIPE, tmp_path / "unbroken")
    train_until(7, RECIPE, tmp_path / "broken")
    assert without_clock(train(RECIPE, tmp_path / "broken")) == without_clock(unbroken)
    log = RunFolder.of(tmp_path / "broken", RECIPE).log.read_text().splitlines()
    assert max(json.loads(line)["step"] for line in log) == 7

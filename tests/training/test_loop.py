import json
import math
import os
import signal

import pytest
import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from training.runs import small_recipe

from longarena.data import dataset
from longarena.data.files import locked
from longarena.errors import UserError
from longarena.records.answers import answers_path, read_answers
from longarena.records.folder import read_records, record_path
from longarena.records.record import is_significant
from longarena.training import run as run_module
from longarena.training.evaluate import evaluate_run
from longarena.training.folder import RunFolder, all_runs, find_run
from longarena.training.loop import train
from longarena.training.stop import Interrupted

pytestmark = pytest.mark.slow


@pytest.fixture
def finished(tmp_path):
    return train(small_recipe(), tmp_path / "runs")


def lines(folder):
    return [json.loads(line) for line in (folder.path / "log.jsonl").read_text().splitlines()]


def without_clock(record):
    clock = {"steps_per_second", "tokens_per_second", "peak_resident_bytes", "train_seconds"}
    metrics = record.metrics.model_dump(exclude=clock)
    curve = record.curve.model_dump(exclude={"seconds"})
    rest = (record.recipe, record.fingerprint, record.status, record.answers)
    return metrics, curve, *rest


def train_until(step, recipe, runs):
    """Train, and have the process asked to stop while it takes this step."""
    take_step = run_module.take_step

    def step_and_stop(learner, batch, at):
        if at + 1 == step:
            os.kill(os.getpid(), signal.SIGTERM)
        return take_step(learner, batch, at)

    with pytest.MonkeyPatch.context() as patch, pytest.raises(Interrupted) as stopped:
        patch.setattr(run_module, "take_step", step_and_stop)
        train(recipe, runs)
    return str(stopped.value)


def test_a_run_leaves_recipe_log_checkpoints_and_record(finished, tmp_path):
    folder = RunFolder.of(tmp_path / "runs", finished.recipe)
    assert folder.read_recipe() == finished.recipe
    assert folder.read_record() == finished
    assert read_records(tmp_path / "runs" / "records").runs == [finished]
    assert [line["step"] for line in lines(folder) if "loss" in line] == [3, 6, 9, 12]
    assert [line["step"] for line in lines(folder) if "valid_loss" in line] == [5, 10, 12]
    kept = sorted(path.name for path in folder.checkpoints.glob("step-*.json"))
    assert kept == ["step-00000010.json", "step-00000012.json"]


def test_a_finished_run_is_read_not_repeated(finished, tmp_path, monkeypatch):
    monkeypatch.setattr(run_module.Run, "fit", lambda *_: pytest.fail("trained again"))
    assert train(small_recipe(), tmp_path / "runs") == finished


def test_the_same_recipe_gives_the_same_record(finished, tmp_path):
    assert without_clock(train(small_recipe(), tmp_path / "elsewhere")) == without_clock(finished)


def test_another_seed_gives_another_run(finished, tmp_path):
    other = train(small_recipe("linear", "seed=1"), tmp_path / "runs")
    assert other.metrics.test.loss != finished.metrics.test.loss


@pytest.mark.parametrize("step", [1, 5, 8])
def test_a_stopped_run_ends_like_an_unbroken_one(finished, tmp_path, step):
    message = train_until(step, small_recipe(), tmp_path / "broken")
    assert f"saved at step {step} of 12" in message
    record = train(small_recipe(), tmp_path / "broken")
    assert without_clock(record) == without_clock(finished)
    logs = [lines(RunFolder.of(tmp_path / name, record.recipe)) for name in ("runs", "broken")]
    clean = [[{k: v for k, v in x.items() if "second" not in k} for x in log] for log in logs]
    assert clean[0] == clean[1]


def test_a_damaged_checkpoint_is_skipped_for_the_one_before(finished, tmp_path):
    train_until(9, small_recipe(), tmp_path / "broken")
    newest = RunFolder.of(tmp_path / "broken", small_recipe()).checkpoints
    path = newest / "step-00000009.safetensors"
    path.write_bytes(path.read_bytes()[:-1])
    said = []
    progress = type("Told", (run_module.Progress,), {"say": lambda self, line: said.append(line)})()
    record = train(small_recipe(), tmp_path / "broken", progress=progress)
    assert "step 9 is damaged" in said[0]
    assert "from step 8" in said[1]
    assert without_clock(record) == without_clock(finished)


def test_a_loss_that_is_no_number_ends_the_run_as_diverged(tmp_path):
    record = train(small_recipe("linear", "optimiser.rate=1e30"), tmp_path / "runs")
    assert record.status == "diverged"
    assert record.metrics.test is None
    assert record.metrics.steps < 12


def test_a_validation_that_is_no_number_leaves_a_record_that_can_be_read(tmp_path):
    changes = ["optimiser.rate=1e30", "evaluate_every=1", "log_every=12"]
    record = train(small_recipe("linear", *changes), tmp_path / "runs")
    assert record.status == "diverged"
    assert read_records(tmp_path / "runs" / "records").runs == [record]


def test_a_second_process_on_the_same_run_is_refused(tmp_path):
    folder = RunFolder.of(tmp_path / "runs", small_recipe())
    with (
        locked(folder.lock, "unused"),
        pytest.raises(UserError, match="in use by another process"),
    ):
        train(small_recipe(), tmp_path / "runs")


def test_evaluating_a_run_repeats_its_score_and_changes_nothing(tmp_path):
    finished = train(small_recipe("linear", "checkpoint_every=5"), tmp_path / "runs")
    folder = find_run(tmp_path / "runs", finished.id[:4])
    log = folder.log.read_text()
    assert evaluate_run(folder, "test").score == finished.metrics.test
    assert evaluate_run(folder, "valid").score == finished.metrics.valid
    assert folder.log.read_text() == log


def test_validation_can_be_of_a_part_and_the_test_is_of_all(finished, tmp_path):
    said = []
    progress = type("Told", (run_module.Progress,), {"say": lambda self, line: said.append(line)})()
    part = train(small_recipe("linear", "validate_on=3"), tmp_path / "part", progress=progress)
    whole = finished.metrics.valid.examples
    assert part.metrics.valid.examples == 3 < whole
    assert part.metrics.test.examples == finished.metrics.test.examples
    assert said == [f"validating on 3 of {whole} examples"]


def test_an_unknown_run_is_answered_with_the_known_ones(finished, tmp_path):
    with pytest.raises(UserError, match=finished.id):
        find_run(tmp_path / "runs", "zzzz")


def test_half_a_log_line_does_not_keep_a_run_from_resuming(finished, tmp_path):
    train_until(8, small_recipe(), tmp_path / "broken")
    log = RunFolder.of(tmp_path / "broken", small_recipe()).path / "log.jsonl"
    log.write_text(log.read_text() + '{"step": 9, "lo')
    assert without_clock(train(small_recipe(), tmp_path / "broken")) == without_clock(finished)


def test_every_run_is_listed(finished, tmp_path):
    assert [run.path.name for run in all_runs(tmp_path / "runs")] == [finished.id]


def test_training_leaves_the_global_random_stream_alone(tmp_path):
    torch.manual_seed(0)
    expected = torch.rand(1)
    torch.manual_seed(0)
    record = train(small_recipe(), tmp_path / "runs")
    assert math.isfinite(record.metrics.test.loss)
    assert torch.equal(torch.rand(1), expected)


def test_a_batch_in_parts_gives_the_update_of_the_whole(tmp_path):
    whole, parts = (
        train(
            small_recipe("transformer", "model.dropout=0.0", f"accumulate={n}"), tmp_path / str(n)
        )
        for n in (1, 3)
    )
    assert parts.metrics.test.loss == pytest.approx(whole.metrics.test.loss, rel=1e-4)
    # the sums are rounded differently, so it really came in parts
    assert parts.metrics.late != whole.metrics.late


def test_a_run_that_learns_nothing_is_called_collapsed(tmp_path):
    still = train(small_recipe("linear", "optimiser.rate=1e-12", "steps=8"), tmp_path / "still")
    assert still.status == "collapsed"


LEARNING = ["steps=60", "task.max_length=6", "task.min_length=4", "optimiser.rate=0.01"]


def test_a_run_that_learns_is_called_finished(tmp_path):
    assert train(small_recipe("transformer", *LEARNING), tmp_path / "runs").status == "finished"


@pytest.mark.slow
def test_a_run_that_answers_better_than_a_constant_has_not_collapsed(tmp_path, monkeypatch):
    """A loss can be as high as that of a constant although most answers are right."""
    monkeypatch.setattr("longarena.training.loop.COLLAPSE_MARGIN", 1.0)  # whatever the loss
    changes = [*LEARNING, "steps=120", "task.size=0.1"]
    record = train(small_recipe("transformer", *changes), tmp_path / "runs")
    test = record.metrics.test
    assert is_significant(record.metric, test.value, record.metrics.level, test.error)
    assert record.status == "finished"


def test_a_record_tells_how_training_ended(finished, tmp_path):
    folder = RunFolder.of(tmp_path / "runs", finished.recipe)
    first, *_, last = (line for line in lines(folder) if "loss" in line)
    late = finished.metrics.late
    assert (late.loss, late.value) == (last["loss"], last["accuracy"])
    assert late.first_loss == first["loss"]
    assert 1 < late.level_loss < math.log(10)


def test_the_log_has_the_curve_of_the_record(finished, tmp_path):
    name, curve = RunFolder.of(tmp_path / "runs", finished.recipe).read_curve()
    assert name == finished.metric.name
    assert (curve.steps, curve.values) == (finished.curve.steps, finished.curve.values)
    assert len(curve.seconds) == len(curve.steps)


def test_the_confusion_adds_up_to_the_test_accuracy(finished):
    rows, test = finished.metrics.details["confusion"], finished.metrics.test
    assert sum(map(sum, rows)) == test.examples
    assert sum(rows[i][i] for i in range(len(rows))) == round(test.value * test.examples)


def test_the_answers_lie_beside_the_record_and_add_up_to_its_score(finished, tmp_path):
    folder = RunFolder.of(tmp_path / "runs", finished.recipe)
    path = record_path(tmp_path / "runs" / "records", finished)
    answers = read_answers(answers_path(path))
    assert answers.digest == finished.answers == folder.read_answers(finished).digest
    assert answers.scores.mean() == pytest.approx(finished.metrics.test.value)


def test_the_curve_has_the_seconds_of_its_steps(finished):
    curve = finished.curve
    assert len(curve.steps) == len(curve.seconds) == len(curve.values) > 0
    assert curve.seconds == sorted(curve.seconds)
    assert curve.values[-1] == pytest.approx(finished.metrics.valid.value, abs=1)


def test_data_is_read_through_once(tmp_path, monkeypatch):
    recipe, hashed = small_recipe(), []
    fingerprint = dataset._fingerprint
    monkeypatch.setattr(
        dataset, "_fingerprint", lambda *given: hashed.append(given[0]) or fingerprint(*given)
    )
    train(recipe, tmp_path / "runs")
    assert len(hashed) == 1, "once while it is written"
    train(small_recipe("linear", "seed=1"), tmp_path / "runs")
    assert len(hashed) == 2, "once when it is opened"


def test_smoothed_labels_change_the_training_but_not_what_is_written(finished, tmp_path):
    smooth = train(small_recipe("linear", "label_smoothing=0.3"), tmp_path / "smooth")
    logs = [
        RunFolder.of(tmp_path / name, record.recipe)
        for name, record in (("runs", finished), ("smooth", smooth))
    ]
    plain, smoothed = (next(x["loss"] for x in lines(log) if "loss" in x) for log in logs)
    assert smooth.metrics.test.loss != finished.metrics.test.loss
    # three steps with a tiny rate: as good as the same model, of which a smoothed loss is larger
    assert smoothed == pytest.approx(plain, rel=0.02)


def test_smoothing_is_that_of_torch(tmp_path):
    """With nearly all of the label smoothed away the answers become even."""
    changes = ["label_smoothing=0.99", "steps=60", "optimiser.rate=0.01"]
    even = train(small_recipe("linear", *changes), tmp_path / "runs")
    assert even.metrics.test.loss == pytest.approx(math.log(10), abs=0.1)


def test_tensorboard_gets_the_numbers_of_the_log(tmp_path):
    recipe = small_recipe()
    train(recipe, tmp_path, tensorboard=True)
    folder = RunFolder.of(tmp_path, recipe)
    events = EventAccumulator(str(folder.tensorboard)).Reload().Scalars("loss")
    logged = [(line["step"], line["loss"]) for line in lines(folder) if "loss" in line]
    assert [(event.step, pytest.approx(event.value, rel=1e-6)) for event in events] == logged


def test_without_tensorboard_nothing_is_trained(tmp_path, monkeypatch):
    monkeypatch.setattr("longarena.training.tensorboard.find_spec", lambda _: None)
    with pytest.raises(UserError, match=r"pip install 'longarena\[tensorboard\]'"):
        train(small_recipe(), tmp_path / "runs", tensorboard=True)
    assert not (tmp_path / "runs").exists()

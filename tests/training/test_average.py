"""The mean of the last checkpoints: read from disk, validated, and kept if it is the best."""

import pytest
import torch
from training.runs import small_recipe
from training.test_loop import train_until, without_clock

from longarena.data.tensors import load_tensors
from longarena.training.checkpoint import Checkpoint, average, save
from longarena.training.folder import RunFolder
from longarena.training.loop import train

AVERAGED = "average_checkpoints=3"


def moment(step, value):
    tensors = {
        "model/weight": torch.full((2,), value),
        "model/count": torch.tensor(step),
        "optimiser/0/exp_avg": torch.zeros(2),
    }
    return Checkpoint(step, tensors, {})


def test_the_last_models_are_averaged_and_counts_are_the_last(tmp_path):
    for step, value in enumerate((1.0, 2.0, 4.0, 9.0)):
        save(tmp_path, moment(step, value), kept_number=3)
    tensors, number = average(tmp_path, 3)
    assert number == 3
    assert set(tensors) == {"weight", "count"}
    assert tensors["weight"].tolist() == [5.0, 5.0]
    assert tensors["weight"].dtype == torch.float32
    assert int(tensors["count"]) == 3


def test_a_damaged_checkpoint_is_left_out(tmp_path):
    for step, value in enumerate((1.0, 2.0, 4.0)):
        save(tmp_path, moment(step, value), kept_number=3)
    (tmp_path / "step-00000001.safetensors").write_bytes(b"nothing")
    tensors, number = average(tmp_path, 3)
    assert (number, tensors["weight"].tolist()) == (2, [2.5, 2.5])


def test_at_least_two_checkpoints_are_kept_whatever_is_averaged(tmp_path):
    for step in range(4):
        save(tmp_path, moment(step, 1.0), kept_number=1)
    assert len(list(tmp_path.glob("*.json"))) == 2


@pytest.fixture
def averaged(tmp_path):
    return train(small_recipe("linear", AVERAGED), tmp_path / "runs")


def test_the_average_is_tested_only_if_it_validates_best(averaged, tmp_path):
    folder = RunFolder.of(tmp_path / "runs", averaged.recipe)
    tensors, number = average(folder.checkpoints, 3)
    best = load_tensors(folder.best).tensors
    is_average = all(torch.equal(best[key], tensors[key]) for key in tensors)
    assert number == 3
    assert is_average == (averaged.metrics.details.get("averaged") == 3)
    assert averaged.metrics.valid.value >= max(averaged.curve.values)
    # the curve has what was validated on the way, and nothing else
    assert averaged.curve.steps == [5, 10, 12]


def test_a_run_that_was_stopped_ends_as_one_that_was_not(averaged, tmp_path):
    recipe = small_recipe("linear", AVERAGED)
    train_until(7, recipe, tmp_path / "again")
    assert without_clock(train(recipe, tmp_path / "again")) == without_clock(averaged)


def test_without_the_option_nothing_is_averaged(tmp_path):
    record = train(small_recipe(), tmp_path / "runs")
    assert "averaged" not in record.metrics.details

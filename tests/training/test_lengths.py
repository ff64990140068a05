"""A trained model is scored at lengths it never saw, and by where the answer stands."""

import numpy as np
import pytest
import torch

from longarena.errors import UserError
from longarena.recipes.presets import preset
from longarena.recipes.recipe import override
from longarena.records.lengths import length_scores
from longarena.tasks import build
from longarena.tracks.recall import Recall, asked_places
from longarena.training.evaluate import evaluate_lengths
from longarena.training.folder import RunFolder
from longarena.training.lengths import NUM_EXAMPLES, NUM_TOKENS, score_lengths
from longarena.training.loop import train

CPU = torch.device("cpu")
SMALL = [
    "task.size=0.002",
    "task.length=16",
    "task.longest=130",
    "model.width=16",
    "batch_size=8",
    "steps=4",
    "schedule.warmup_steps=1",
    "evaluate_every=2",
    "log_every=1",
    "checkpoint_every=2",
]


class KnowsHalf(torch.nn.Module):
    """Follows the rule of induction where the special token stands in the first half."""

    def forward(self, ids):
        read = ids[:, 0]
        is_special = read == 1
        first = is_special.int().argmax(dim=1)
        follower = read.gather(1, first[:, None] + 1)[:, 0] - 2
        is_seen = first < (asked_places(ids, 1)[:, 0] - 1) / 2
        answer = torch.where(is_seen, follower, (follower + 1) % 15)
        return torch.nn.functional.one_hot(answer, 15)[:, None].float()


def scores(lengths, sizes=None):
    def evaluate(split, batch_size):
        if sizes is not None:
            sizes[int(split.lengths[0])] = batch_size
        return Recall().evaluate(KnowsHalf(), split, batch_size, CPU)

    return score_lengths(build("induction", {"length": 64, "longest": 4096}), lengths, evaluate)


def test_every_depth_of_every_length_has_its_score():
    for found in scores([64, 300]):
        assert found.depths == [1.0] * 5 + [0.0] * 5
        assert found.value == pytest.approx(0.5, abs=0.15)
        expected = np.sqrt(found.value * (1 - found.value) / NUM_EXAMPLES)
        assert found.error == pytest.approx(expected)


def test_lengths_come_in_order_and_long_ones_in_small_batches():
    sizes = {}
    assert [each.length for each in scores([4096, 64, 64], sizes)] == [64, 4096]
    assert sizes == {64: NUM_TOKENS // 64, 4096: NUM_TOKENS // 4096}


def test_a_length_that_the_model_was_not_built_for_is_refused():
    with pytest.raises(UserError, match=r"at most 4,096 tokens; .* task\.longest=8192"):
        scores([8192])


@pytest.fixture
def trained(tmp_path):
    recipe = override(preset("induction", "transformer", "cpu"), SMALL)
    return train(recipe, tmp_path / "runs"), RunFolder.of(tmp_path / "runs", recipe)


def test_a_record_has_what_the_run_scores_at_every_length(trained):
    record, folder = trained
    found = length_scores(record)
    assert [each.length for each in found] == [16, 64, 128]
    assert evaluate_lengths(folder, [16, 64, 128]).scores == found
    assert [each.length for each in evaluate_lengths(folder, [130, 20]).scores] == [20, 130]
    assert record.metrics.details["state_bytes"] > 0


def test_a_record_that_says_anything_else_has_no_scores_by_length(trained):
    record, _ = trained
    for details in ({}, {"lengths": 3}, {"lengths": [{"length": "long"}]}):
        metrics = record.metrics.model_copy(update={"details": details})
        assert length_scores(record.model_copy(update={"metrics": metrics})) == []

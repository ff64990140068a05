import math

import numpy as np
import pytest
import torch

from longarena.data.batches import evaluation_batches
from longarena.data.dataset import Split
from longarena.tracks.classification import Classification

TRACK = Classification()


def split_of(labels):
    """Examples of one token each, which is the label."""
    tokens = np.array(labels, np.uint8)
    return Split(tokens, np.arange(len(labels) + 1), np.array(labels), 1)


class Echo(torch.nn.Module):
    """Answers with the first token, and with class 0 where it is 2."""

    def forward(self, ids):
        first = ids[:, 0, 0] - 1
        return 10.0 * torch.nn.functional.one_hot(first % 2 * (first < 2), 3).float()


def test_accuracy_and_loss_are_over_all_examples():
    split = split_of([0, 1, 2, 2, 1])
    found = TRACK.evaluate(Echo(), split, 2, torch.device("cpu"))
    assert TRACK.details(split, found)["confusion"] == [[1, 0, 0], [0, 2, 0], [2, 0, 0]]
    assert found.tally.mean_score == pytest.approx(3 / 5)
    assert found.tally.error == pytest.approx(math.sqrt(3 / 5 * 2 / 5 / 5))
    right, wrong = np.log(1 + 2 * np.exp(-10)), 10 + np.log(1 + 2 * np.exp(-10))
    assert found.tally.mean_loss == pytest.approx((3 * right + 2 * wrong) / 5, rel=1e-4)
    assert found.tally.numbers[-2:] == [5, 5]


def test_a_model_in_training_goes_on_training_after_evaluation():
    model = Echo().train()
    TRACK.evaluate(model, split_of([0]), 1, torch.device("cpu"))
    assert model.training


def test_the_level_is_the_commonest_class_of_train_scored_on_test():
    level = TRACK.level(split_of([1, 1, 0]), split_of([0, 0, 0, 1]))
    assert level.score == 0.25
    assert level.loss == pytest.approx(-(2 / 3 * np.log(2 / 3) + 1 / 3 * np.log(1 / 3)))


def test_answers_come_in_the_order_of_the_dataset_whatever_the_lengths():
    labels = [1, 0, 1, 0, 2]
    lengths = [3, 1, 2, 5, 4]
    tokens = np.repeat(np.array(labels, np.uint8), lengths)
    split = Split(tokens, np.cumsum([0, *lengths]), np.array(labels), 1)
    found = TRACK.evaluate(Echo(), split, 2, torch.device("cpu"))
    assert found.answers.tolist() == [1, 0, 1, 0, 0]
    assert found.scores.tolist() == [1, 1, 1, 1, 0]


def test_smoothing_changes_what_is_minimised_and_not_what_is_told():
    batch = next(evaluation_batches(split_of([0, 1, 2]), 3))
    plain, smooth = TRACK.judge(Echo(), batch), TRACK.judge(Echo(), batch, label_smoothing=0.1)
    assert smooth.objective != plain.objective
    assert smooth.tally.numbers == plain.tally.numbers

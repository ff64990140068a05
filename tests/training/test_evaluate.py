import numpy as np
import pytest
import torch

from longarena.data.ragged import Split
from longarena.training.evaluate import evaluate, majority_share


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
    found = evaluate(Echo(), split_of([0, 1, 2, 2, 1]), 2, torch.device("cpu"))
    score = found.score
    assert found.confusion.tolist() == [[1, 0, 0], [0, 2, 0], [2, 0, 0]]
    assert score.accuracy == pytest.approx(3 / 5)
    right, wrong = np.log(1 + 2 * np.exp(-10)), 10 + np.log(1 + 2 * np.exp(-10))
    assert score.loss == pytest.approx((3 * right + 2 * wrong) / 5, rel=1e-4)
    assert score.examples == 5


def test_a_model_in_training_goes_on_training_after_evaluation():
    model = Echo().train()
    evaluate(model, split_of([0]), 1, torch.device("cpu"))
    assert model.training


def test_the_majority_is_the_commonest_class_of_train_scored_on_test():
    assert majority_share(split_of([1, 1, 0]), split_of([0, 0, 0, 1])) == 0.25

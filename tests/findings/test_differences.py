"""Intervals are what they say: simulated models of equal accuracy are tied 95 times of 100."""

import numpy as np
import pytest

from longarena.findings.differences import Contestant, differences, mcnemar, tied_with_best

EXAMPLES, TRIALS = 200, 300
# a rate of 95 in 100 falls outside by luck, in 300 trials, less than once in 100
LOW, HIGH = 0.915, 0.985


@pytest.fixture(autouse=True)
def fewer_draws(monkeypatch):
    """Enough draws for a quantile of 95 in 100."""
    monkeypatch.setattr("longarena.findings.differences.RESAMPLES", 1000)


def answers(rng, accuracies, *, seeds=1, difficulty=0.0, luck=0.0):
    """Contestants whose answers are right with these probabilities.

    `difficulty` is how much examples differ, alike for all; `luck` is how much seeds differ.
    """
    hard = difficulty * rng.standard_normal(EXAMPLES)
    found = []
    for accuracy in accuracies:
        chances = accuracy + hard + luck * rng.standard_normal((seeds, 1))
        right = rng.random((seeds, EXAMPLES)) < chances
        found.append(Contestant("", right.astype(float), float(EXAMPLES)))
    return found


def share_of_ties(accuracies, trials=TRIALS, **settings):
    """How often all contestants are called tied with the best."""
    rng = np.random.default_rng(0)
    found = [all(tied_with_best(answers(rng, accuracies, **settings))) for _ in range(trials)]
    return float(np.mean(found))


@pytest.mark.parametrize(
    "settings",
    [
        {},
        pytest.param({"difficulty": 1.0}, marks=pytest.mark.everywhere),
        pytest.param({"seeds": 3, "difficulty": 0.3}, marks=pytest.mark.everywhere),
        pytest.param({"seeds": 3, "luck": 0.03}, marks=pytest.mark.everywhere),
        {"seeds": 5, "luck": 0.1, "difficulty": 0.2},
    ],
    ids=["independent", "shared examples", "seeds", "seeds differ", "seeds differ much"],
)
def test_equal_models_are_tied_95_times_of_100(settings):
    assert LOW < share_of_ties([0.6, 0.6], **settings) < HIGH


@pytest.mark.parametrize("accuracy", [0.1, 0.95])
def test_so_are_models_that_are_nearly_always_wrong_or_right(accuracy):
    assert LOW < share_of_ties([accuracy] * 2) < HIGH


def test_six_equal_models_are_all_tied_95_times_of_100():
    assert LOW < share_of_ties([0.6] * 6, difficulty=0.2, trials=150) < HIGH


def test_a_model_that_is_better_is_found():
    # 20 points are 4.2 standard errors of a difference of independent answers
    assert share_of_ties([0.6, 0.8], trials=100) < 0.05


def test_the_luck_of_one_does_not_hide_what_tells_two_others_apart():
    rng = np.random.default_rng(6)
    steady = answers(rng, [0.95, 0.75, 0.6, 0.55], seeds=3)
    lucky = answers(rng, [0.5], seeds=3, luck=0.5)
    assert tied_with_best([*steady, *lucky])[:4] == [True, False, False, False]


def test_pairing_makes_the_interval_narrow_where_examples_are_hard_for_all():
    pair = answers(np.random.default_rng(1), [0.55, 0.65], difficulty=3.0)
    (_, found), _ = differences(pair)
    errors = [each.scores.std() / np.sqrt(EXAMPLES) for each in pair]
    assert found.high - found.low < 0.7 * 2 * 1.96 * np.hypot(*errors)


def test_bits_and_answers_to_several_questions_are_compared_per_weight():
    rng = np.random.default_rng(2)
    first = rng.gamma(20.0, 10.0, (1, 300))
    second = first + rng.normal(4.0, 2.0, (1, 300))
    weight = 300 * 100.0  # bytes
    (_, found), _ = differences([Contestant("", row, weight) for row in (first, second)])
    assert found.value == pytest.approx((first - second).sum() / weight)
    assert found.low < found.value < found.high < 0
    assert found.high - found.low == pytest.approx(2 * 1.96 * 2.0 / np.sqrt(300) / 100, rel=0.15)


def test_equal_answers_are_tied_without_any_doubt():
    rng = np.random.default_rng(3)
    (one,) = answers(rng, [0.5])
    (_, found), _ = differences([one, one])
    assert (found.value, found.low, found.high) == (0, 0, 0)
    assert found.is_tie


def test_the_interval_is_the_same_every_time():
    pair = answers(np.random.default_rng(4), [0.5, 0.6])
    assert differences(pair) == differences(pair)


def test_less_can_be_better():
    rng = np.random.default_rng(5)
    bits = [Contestant("", mean + rng.random((1, 200)), 200.0) for mean in (1.0, 3.0)]
    assert tied_with_best(bits, "less") == [True, False]
    assert tied_with_best(bits, "more") == [False, True]


@pytest.mark.parametrize(
    ("only_first", "only_second", "chance"), [(5, 0, 0.0625), (3, 3, 1.0), (10, 1, 0.01171875)]
)
def test_mcnemars_test_counts_what_only_one_answered(only_first, only_second, chance):
    agreed = [1.0] * 40 + [0.0] * 7
    first = np.array([1.0] * only_first + [0.0] * only_second + agreed)
    second = np.array([0.0] * only_first + [1.0] * only_second + agreed)
    assert mcnemar(first, second) == pytest.approx(chance)

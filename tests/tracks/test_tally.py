import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from longarena.tracks.metric import Metric
from longarena.tracks.tally import Tally

SCORES = st.lists(st.floats(0, 1, width=32), min_size=2, max_size=20)


@given(SCORES, st.integers(1, 19))
def test_parts_add_up_to_the_whole(scores, cut):
    whole = torch.tensor(scores)
    parts = [part for part in (whole[:cut], whole[cut:]) if len(part)]
    added = Tally.zero()
    for part in parts:
        added += Tally.of(part.double().sum(), part, weight=len(part))
    expected = Tally.of(whole.double().sum(), whole, weight=len(whole)).numbers
    assert added.numbers == pytest.approx(expected, rel=1e-12)


def test_the_error_is_that_of_a_mean_over_examples():
    scores = torch.tensor([0.0, 1.0, 1.0, 0.5])
    tally = Tally.of(torch.tensor(2.0), scores, weight=4)
    deviation = float(scores.double().std(unbiased=False))
    assert tally.error == pytest.approx(deviation / math.sqrt(4))


def test_tokens_of_one_example_do_not_count_as_independent():
    """Two windows of 100 tokens each: the error comes from two examples, not from 200."""
    bits = torch.tensor([150.0, 250.0])
    tally = Tally.of(torch.tensor(1.0), bits, weight=200)
    assert tally.mean_score == 2.0
    assert tally.error == pytest.approx(50 / math.sqrt(2) / 100)


def test_a_tally_survives_being_written_down():
    tally = Tally.of(torch.tensor(1.1), torch.tensor([0.3, 0.7]), weight=2)
    assert Tally.read(tally.numbers).numbers == tally.numbers


@pytest.mark.parametrize(("better", "expected"), [("more", 3.0), ("less", 1.0)])
def test_a_metric_knows_which_way_is_better(better, expected):
    metric = Metric(name="m", title="M", unit="", better=better)
    assert metric.best([2.0, 1.0, 3.0]) == expected
    assert metric.is_better(expected, 2.0)
    assert not metric.is_better(2.0, 2.0)

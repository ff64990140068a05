"""Every mechanism really has the cost that its card claims: counted, not timed."""

import pytest
import torch

from longarena.attention import MIXERS
from longarena.contract.growth import (
    LENGTH,
    WIDTH,
    check_growth,
    check_largest,
    largest_tensor,
    step,
)
from longarena.measure.cost import mult_adds

CHEAPER_THAN_FULL = [name for name in MIXERS if MIXERS[name].card.exponent < 2]


@pytest.mark.parametrize("name", MIXERS)
def test_operations_grow_no_faster_than_claimed(name):
    check_growth(name, MIXERS[name].card)


@pytest.mark.parametrize("name", MIXERS)
def test_every_mechanism_counts_its_projections_at_least(name):
    assert mult_adds(step(name, 64)) > 64 * WIDTH**2


@pytest.mark.parametrize("name", CHEAPER_THAN_FULL)
def test_no_tensor_of_half_the_matrix_appears(name):
    check_largest(name)


def test_the_watcher_sees_a_matrix():
    x = torch.randn(LENGTH, 4, requires_grad=True)
    assert largest_tensor(lambda: (x @ x.T).relu().sum().backward()) == LENGTH**2


def test_the_watcher_is_not_fooled_by_a_view():
    x = torch.randn(LENGTH, 1)
    assert largest_tensor(lambda: x.expand(LENGTH, LENGTH)) == LENGTH

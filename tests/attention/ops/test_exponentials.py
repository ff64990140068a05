import pytest
import torch
from attention.test_cost import largest_tensor

from longarena.attention.ops.exponentials import sum_exponentials


def draw(*shape):
    rng = torch.Generator().manual_seed(0)
    return torch.randn(shape, generator=rng, dtype=torch.complex128)


def slow_decays(width, pairs):
    """Exponents that hardly decay and turn by up to three at every position."""
    turns = torch.linspace(0, 3, width * pairs, dtype=torch.float64).view(width, pairs)
    return torch.complex(torch.full_like(turns, -1e-4), turns)


def one_by_one(weights, exponents, length):
    positions = torch.arange(length, dtype=torch.float64)
    return 2 * (weights[..., None] * torch.exp(exponents[..., None] * positions)).sum(-2).real


@pytest.mark.parametrize("length", [1, 2, 3, 4, 10, 61])
def test_it_is_the_sum_at_every_position(length):
    weights, exponents = draw(2, 3, 4), slow_decays(3, 4)
    found = sum_exponentials(weights, exponents, length)
    torch.testing.assert_close(found, one_by_one(weights, exponents, length))


def test_its_gradient_is_that_of_the_sum():
    inputs = draw(2, 3, 2).requires_grad_(), slow_decays(3, 2).requires_grad_()
    torch.autograd.gradcheck(lambda *both: sum_exponentials(*both, 11), inputs)


def test_far_positions_keep_their_phase_in_single_precision():
    weights, exponents = draw(1, 4, 8), slow_decays(4, 8)
    exact = one_by_one(weights, exponents, 16384)
    error = sum_exponentials(weights.to(torch.complex64), exponents, 16384) - exact
    assert error.abs().max() < 2e-6 * exact.abs().max()


def test_no_table_of_all_positions_and_exponents_exists():
    weights, exponents = draw(2, 3, 32), slow_decays(3, 32).requires_grad_()
    largest = largest_tensor(lambda: sum_exponentials(weights, exponents, 4096).sum().backward())
    # the sums themselves
    assert largest == 2 * 3 * 4096

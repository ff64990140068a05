import pytest
import torch

from longarena.attention.ops import causal_convolution
from longarena.attention.ops.causal_convolution import causal_convolve


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Three sizes of blocks within a hundred tokens, and one channel at a time."""
    monkeypatch.setattr(causal_convolution, "BLOCK", 4)
    monkeypatch.setattr(causal_convolution, "GROUP", 3)
    monkeypatch.setattr(causal_convolution, "NUMBERS", 200)


def draw(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64)


def by_matrix(x, kernel):
    length = x.shape[1]
    distances = torch.arange(length)[:, None] - torch.arange(length)
    weights = kernel[:, distances.clamp_min(0)] * (distances >= 0)
    return torch.einsum("dij,bjd->bid", weights, x)


@pytest.mark.parametrize("length", [1, 2, 4, 5, 12, 13, 36, 37, 61, 108, 110])
def test_it_is_the_product_with_a_triangle(length):
    x, kernel = draw(2, length, 3), draw(3, length, seed=1)
    torch.testing.assert_close(causal_convolve(x, kernel), by_matrix(x, kernel))


@pytest.mark.parametrize("length", [1, 14, 40])
def test_its_gradient_is_that_of_the_product(length):
    x, kernel = draw(1, length, 2).requires_grad_(), draw(2, length, seed=1).requires_grad_()
    assert torch.autograd.gradcheck(causal_convolve, (x, kernel))


@pytest.mark.parametrize("place", [1, 12, 30, 36, 60])
def test_no_bit_of_a_later_token_shows(place):
    x, kernel = draw(2, 61, 3), draw(3, 61, seed=1)
    x[1, :place], x[1, place:] = x[0, :place], 1e6
    x.requires_grad_()
    y = causal_convolve(x, kernel)
    assert torch.equal(y[0, :place], y[1, :place])
    y[:, :place].sum().backward()
    assert (x.grad[:, place:] == 0).all()


def test_half_precision_is_convolved_in_single_precision():
    x, kernel = draw(2, 20, 3).bfloat16(), draw(3, 20).float()
    torch.testing.assert_close(causal_convolve(x, kernel), causal_convolve(x.float(), kernel))


def test_single_precision_holds_at_16384_tokens(monkeypatch):
    monkeypatch.undo()
    x, kernel = draw(1, 16384, 2), draw(2, 16384, seed=1)
    exact = causal_convolve(x, kernel)
    error = causal_convolve(x.float(), kernel.float()) - exact
    assert error.abs().max() < 2e-6 * exact.abs().max()

import pytest
import torch

from longarena.attention.ops.fft_convolution import fast_length, fft_convolve


def draw(*shape, dtype=torch.float64):
    return torch.randn(shape, generator=torch.Generator().manual_seed(0), dtype=dtype)


def by_matrix(x, kernels):
    """The same convolution, with the weight of every token for every other one written out."""
    length = x.shape[1]
    distances = torch.arange(length)[:, None] - torch.arange(length)
    back = kernels[0][:, distances.clamp_min(0)] * (distances >= 0)
    ahead = kernels[1][:, (-distances - 1).clamp_min(0)] * (distances < 0)
    return torch.einsum("dij,bjd->bid", back + ahead, x)


@pytest.mark.parametrize("length", [1, 2, 7, 61, 64])
def test_it_is_the_product_with_a_matrix(length):
    x, kernels = draw(3, length, 4), draw(2, 4, length)
    torch.testing.assert_close(fft_convolve(x, kernels), by_matrix(x, kernels))


def test_its_gradient_is_that_of_the_product():
    inputs = draw(2, 9, 3).requires_grad_(), draw(2, 3, 9).requires_grad_()
    torch.autograd.gradcheck(fft_convolve, inputs)


def test_the_present_token_is_seen_once():
    present = torch.zeros(2, 1, 5)
    present[0, 0, 0] = 1.0
    x = draw(1, 5, 1, dtype=torch.float32)
    torch.testing.assert_close(fft_convolve(x, present), x)
    torch.testing.assert_close(fft_convolve(x, present.flip(0))[:, :-1], x[:, 1:])


def test_half_precision_is_convolved_in_single_precision():
    x, kernels = draw(2, 20, 3).bfloat16(), draw(2, 3, 20).float()
    torch.testing.assert_close(fft_convolve(x, kernels), fft_convolve(x.float(), kernels))


def test_single_precision_holds_at_16384_tokens():
    x, kernels = draw(1, 16384, 2), draw(2, 2, 16384)
    exact = fft_convolve(x, kernels)
    error = fft_convolve(x.float(), kernels.float()) - exact
    assert error.abs().max() < 2e-6 * exact.abs().max()


def test_a_fast_length_is_little_longer_and_has_small_factors():
    for least in range(1, 40_000, 37):
        found = fast_length(least)
        assert least <= found <= max(2, 1.08 * least + 1)
        assert found % 2 == 0
        assert 30**16 % found == 0

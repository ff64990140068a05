import pytest
import torch

from longarena.attention import build


def fnet(width=16, max_length=128):
    return build("fnet", width=width, num_heads=1, max_length=max_length)


def rows(*lengths, width=16, dtype=torch.float64):
    """Random tokens for rows of these lengths, and their mask."""
    mask = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
    return torch.randn(*mask.shape, width, dtype=dtype), mask


@pytest.mark.parametrize("width", [1, 2, 7, 16])
def test_every_row_is_transformed_as_if_it_were_alone(width):
    lengths = (61, 40, 9, 2, 1)
    x, mask = rows(*lengths, width=width)
    y = fnet(width)(x, mask)
    for row, length in enumerate(lengths):
        alone = torch.fft.fft2(x[row, :length]).real
        torch.testing.assert_close(y[row, :length], alone)


def test_a_batch_without_padding_is_transformed_as_one_with_padding():
    x, mask = rows(61, 61)
    padded, longer = rows(61, 61, 64)
    padded[:2, :61] = x
    torch.testing.assert_close(fnet()(x, mask), fnet()(padded, longer)[:2, :61])


def test_it_is_its_own_adjoint():
    x, mask = rows(61, 40)
    x.requires_grad_()
    direction = torch.randn_like(x).masked_fill(~mask[..., None], 0.0)
    y = fnet()(x, mask)
    (y * direction).sum().backward()
    torch.testing.assert_close(x.grad[mask], fnet()(direction, mask)[mask])


def test_it_has_no_parameters():
    assert list(fnet().parameters()) == []
    assert fnet().state_dict() == {}


@pytest.mark.parametrize("length", [16384, 16381])
def test_single_precision_holds_at_16384_tokens(length):
    x, mask = rows(16384, length, width=4, dtype=torch.float32)
    y = fnet(4, max_length=16384)(x, mask)[1, :length]
    exact = torch.fft.fft2(x[1, :length].double()).real
    assert (y - exact).norm() < 1e-6 * exact.norm()
    assert (y - exact).abs().max() < 1e-5 * exact.abs().max()


def test_half_precision_is_transformed_in_single_precision():
    x, mask = rows(61, 40, dtype=torch.bfloat16)
    torch.testing.assert_close(fnet()(x, mask), fnet()(x.float(), mask))

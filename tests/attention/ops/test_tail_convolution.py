import pytest
import torch
import torch.nn.functional as F

from longarena.attention.ops.tail_convolution import TailConvolution

SETS, BATCH, CHANNELS = 2, 3, 5


def draw(*shape, seed):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64).requires_grad_()


def inputs(tokens, size):
    x, tail = (draw(SETS, BATCH, n, CHANNELS, seed=n) for n in (tokens, size - 1))
    return [x, tail, draw(SETS, size, CHANNELS, seed=99)]


def convolved(x, tail, kernel):
    """The same by conv1d, set by set, and the last tokens."""
    row = torch.cat([tail, x], dim=2)
    weights = kernel.mT[:, :, None]
    parts = [F.conv1d(a.mT, w, groups=CHANNELS).mT for a, w in zip(row, weights, strict=True)]
    return F.silu(torch.stack(parts)), row[:, :, x.shape[2] :]


@pytest.mark.parametrize("size", [1, 2, 4])
@pytest.mark.parametrize("tokens", [1, 2, 3, 8])
def test_it_is_a_depthwise_convolution_and_a_silu(tokens, size):
    given = inputs(tokens, size)
    y, next_tail = convolved(*given)
    dy, dnext = (draw(*t.shape, seed=7).detach() for t in (y, next_tail))
    wanted = torch.autograd.grad((y, next_tail), given, (dy, dnext))
    with torch.no_grad():
        convolution = TailConvolution(*given)
        torch.testing.assert_close(convolution.y(), y)
        torch.testing.assert_close(convolution.next_tail(), next_tail)
        dx = torch.full_like(dy, torch.nan)
        dtail, dkernel = convolution.back(dy, dnext, dx)
    torch.testing.assert_close((dx, dtail, dkernel), wanted)

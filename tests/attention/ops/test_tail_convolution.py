import pytest
import torch
import torch.nn.functional as F

from longarena.attention.ops.tail_convolution import TailConvolution

SETS, BATCH, CHANNELS = 2, 3, 5


def draw(*shape, seed):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64).requires_grad_()


def convolved(x, kernel):
    """The same by conv1d, set by set."""
    weights = kernel.mT[:, :, None]
    rows = (a.permute(1, 2, 0) for a in x)
    parts = [F.conv1d(a, w, groups=CHANNELS) for a, w in zip(rows, weights, strict=True)]
    return F.silu(torch.stack(parts)).permute(0, 3, 1, 2)


@pytest.mark.parametrize("size", [1, 2, 4])
@pytest.mark.parametrize("tokens", [1, 2, 3, 8])
def test_it_is_a_depthwise_convolution_and_a_silu(tokens, size):
    x = draw(SETS, size - 1 + tokens, BATCH, CHANNELS, seed=tokens)
    kernel = draw(SETS, size, CHANNELS, seed=99)
    y = convolved(x, kernel)
    dy = draw(*y.shape, seed=7).detach()
    wanted = torch.autograd.grad(y, (x, kernel), dy)
    with torch.no_grad():
        convolution = TailConvolution(x, kernel)
        torch.testing.assert_close(F.silu(convolution.sums), y)
        dx = torch.full_like(x, torch.nan)
        dkernel = convolution.back(dy.clone(), dx)
    torch.testing.assert_close((dx, dkernel), wanted)

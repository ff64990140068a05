import pytest
import torch
import torch.nn.functional as F

from longarena.attention.ops.short_convolution import BLOCK, ShortConvolution


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("size", [1, 2, 4, 7])
@pytest.mark.parametrize("length", [1, 3, BLOCK, 2 * BLOCK + 5])
def test_it_is_a_depthwise_convolution_and_a_silu(causal, size, length):
    convolution = ShortConvolution(6, size, causal).double()
    x = torch.randn(2, length, 6, dtype=torch.float64, requires_grad=True)
    before = size - 1 if causal else size // 2
    padded = F.pad(x.mT, (before, size - 1 - before))
    expected = F.silu(F.conv1d(padded, convolution.weight, convolution.bias, groups=6)).mT
    y = convolution(x)
    torch.testing.assert_close(y, expected)
    inputs, direction = [x, *convolution.parameters()], torch.randn_like(y)
    found, wanted = (torch.autograd.grad(t, inputs, direction) for t in (y, expected))
    torch.testing.assert_close(found, wanted)


@pytest.mark.parametrize("size", [1, 2, 4, 7])
@pytest.mark.parametrize("places", [[1, 2, 3, 4, 20], [2, 20], [13, 20]])
@torch.no_grad()
def test_it_can_be_carried_on(size, places):
    convolution = ShortConvolution(6, size, causal=True).double()
    x, tail = torch.randn(2, 20, 6, dtype=torch.float64), convolution.first_tail(2)
    answers = []
    for first, last in zip([0, *places], places, strict=False):
        y, tail = convolution.carry_on(x[:, first:last], tail)
        answers.append(y)
    torch.testing.assert_close(torch.cat(answers, dim=1), convolution(x))

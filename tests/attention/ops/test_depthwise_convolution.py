import pytest
import torch

from longarena.attention.ops.depthwise_convolution import BLOCK, depthwise_convolve


@pytest.mark.parametrize("length", [1, BLOCK - 1, BLOCK, BLOCK + 1])
@pytest.mark.parametrize("size", [1, 3, 61])
@pytest.mark.parametrize("causal", [False, True])
def test_convolving_is_what_conv1d_does(length, size, causal):
    x = torch.randn(2, 6, length, dtype=torch.float64)
    kernels = torch.randn(6, size, dtype=torch.float64)
    padding = size - 1 if causal else size // 2
    expected = torch.nn.functional.conv1d(x, kernels[:, None], padding=padding, groups=6)
    found = depthwise_convolve(x.mT, kernels, causal)
    torch.testing.assert_close(found, expected[..., :length].mT)

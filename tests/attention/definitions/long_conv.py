"""The convolution as a sum over all tokens, for one position after the other.

Repository HazyResearch/safari. Soft threshold: src/models/sequence/long_conv_kernel.py,
LongConvKernel.forward (its dropout of the kernel is for training alone). Convolution, skip, GELU
and GLU: src/models/sequence/long_conv.py, LongConv.forward, with one channel.

Two directions: k0 is padded behind, k1 flipped and padded in front, and both are added, so k0[l]
weighs the token l places back, the present one included, and k1[l] the token l + 1 places ahead.
The code there is written for tokens as many as the kernel is long; fewer tokens read its beginning.
"""

import torch
from torch.nn.functional import gelu, glu, relu

SMALL = {}
VARIANTS = [
    {"lam": 0.0},
    {"lam": 0.001, "kernel_dropout": 0.0},
    {"init": "random"},
    {"init": "double_exp", "kernel_dropout": 0.5},
]


def definition(x, mask, weights, place, options):
    u = torch.where(mask[..., None], x, 0.0)
    kernel = weights["kernel"]
    kernel = relu(kernel.abs() - options.lam) * kernel.sign()
    outputs = []
    for i in range(u.shape[1]):
        back = u[:, : i + 1].flip(1)
        total = weighted_sum(back, kernel[0])
        if not place.causal:
            total = total + weighted_sum(u[:, i + 1 :], kernel[1])
        outputs.append(total)
    y = torch.stack(outputs, dim=1) + weights["skip"] * u
    return glu(gelu(y) @ weights["gate.weight"].T + weights["gate.bias"])


def weighted_sum(tokens, kernel):
    """The sum of tokens, the nearest first, each channel weighted by its kernel's beginning."""
    return torch.einsum("bld,dl->bd", tokens, kernel[:, : tokens.shape[1]])

"""Retention in its parallel form, with the whole matrix of decays.

Paper arXiv 2307.08621. Pairs of channels turned by their position, as complex numbers, and the
matrix of decays D: eq. 5. Decay 1 - 2^(-5-h) of head h, norm and swish gate: eq. 8. Repository
microsoft/torchscale: torchscale/component/multiscale_retention.py, theta_shift (neighbouring
channels are a pair), MultiScaleRetention (scale d^-1/2, norm, gate, output, in this order).
Repository fla-org/flash-linear-attention, fla/layers/multiscale_retention.py: the norm is an RMS
norm over one head, with a weight that the heads share.

Two of the paper's normalisations, D by the root of its row sum and the scores by their detached
row sum, are positive factors that the norm takes out again but for its epsilon. Like fla, this
leaves them out. torchscale's angles end at 1/10000 (linspace); here as in fla they are RoFormer's.

Two directions: arshiaafzal/LION, img_classification/lion/models_lion.py, Causal_Mask_Decay.
"""

import math

import torch
from attention.definitions.pieces import heads, merge, no_later
from torch.nn.functional import silu

SMALL = {}
VARIANTS = [{"value_expansion": 1}, {"value_expansion": 3}]


def definition(x, mask, weights, place, options):
    q, k, v, gate = (
        heads(x, weights[f"{name}.weight"], place.num_heads)
        for name in ("query", "key", "value", "gate")
    )
    scores = (turned(q) @ turned(k).mH).real / math.sqrt(q.shape[-1])
    allowed = no_later(mask[:, None, None, :], place.causal)
    y = torch.where(allowed, scores * decays(x.shape[1], place.num_heads), 0.0) @ v
    normed = y / torch.sqrt(y.square().mean(-1, keepdim=True) + 1e-5) * weights["norm.weight"]
    return merge(normed * silu(gate), weights["output.weight"])


def turned(t):
    """Every pair of channels as one complex number, times e^(i position angle)."""
    pairs = torch.complex(t[..., 0::2], t[..., 1::2])
    size, position = t.shape[-1], torch.arange(t.shape[-2])
    angle = torch.tensor([10_000 ** (-2 * i / size) for i in range(size // 2)], dtype=t.dtype)
    return pairs * torch.exp(1j * position[:, None] * angle)


def decays(length, num_heads):
    """The decay of every head to the power of the distance: (H, N, N)."""
    position = torch.arange(length)
    distance = (position[:, None] - position).abs()
    decay = torch.tensor([1 - 2.0 ** (-5 - head) for head in range(num_heads)], dtype=torch.double)
    return decay[:, None, None] ** distance

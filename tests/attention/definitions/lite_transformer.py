"""Attention over some channels; each other channel by a sum over the kernel's places.

The last place of a causal kernel is the token's own, the middle one of any other.
"""

import math

import torch
from attention.definitions.pieces import heads, masked_softmax, merge, no_later, rotated

SMALL = {"kernel": 5}
VARIANTS = [
    {"kernel": 31},
    {"kernel": 5, "dynamic": True},
    {"kernel": 3, "split": 0.25},
    {"kernel": 9, "split": 0.75, "dynamic": True},
]


def definition(x, mask, weights, place, options):
    width = round(options.split * place.width)
    num_heads = max(1, round(options.split * place.num_heads))
    far = attention(x[..., :width], mask, weights, place, num_heads)
    groups = max(1, place.num_heads - num_heads)
    near = convolution(x[..., width:], mask, weights, groups, (place, options))
    return torch.cat([far, near], dim=-1)


def attention(x, mask, weights, place, num_heads):
    q, k, v = (
        heads(x, weights[f"attention.{name}.weight"], num_heads)
        for name in ("query", "key", "value")
    )
    q, k = rotated(q, place), rotated(k, place)
    logits = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    allowed = no_later(mask[:, None, None, :].expand(logits.shape), place.causal)
    return merge(masked_softmax(logits, allowed) @ v, weights["attention.output.weight"])


def convolution(x, mask, weights, groups, where):
    place, options = where
    content, gate = (x @ weights["convolution.input.weight"].T).chunk(2, dim=-1)
    gated = torch.where(mask[..., None], content / (1 + torch.exp(-gate)), 0.0)
    kernel = kernels(gated, weights, groups, options)
    size = kernel.shape[-1]
    own = size - 1 if place.causal else size // 2
    channels = gated.shape[-1] // groups
    total = torch.zeros_like(gated)
    for at in range(size):
        weight = kernel[..., at].repeat_interleave(channels, dim=-1)
        total = total + weight * shifted(gated, at - own)
    return total @ weights["convolution.output.weight"].T


def shifted(x, by):
    """Row i is row i + by of x, and 0 beyond its ends."""
    places = torch.arange(x.shape[1]) + by
    is_inside = (places >= 0) & (places < x.shape[1])
    return torch.where(is_inside[:, None], x[:, places.clamp(0, x.shape[1] - 1)], 0.0)


def kernels(tokens, weights, groups, options):
    """The kernel of every group, at each position or for all: (..., groups, kernel)."""
    if options.dynamic:
        logits = tokens @ weights["convolution.kernel.predict.weight"].T
        logits = logits.unflatten(-1, (groups, -1))
    else:
        logits = weights["convolution.kernel.weight"]
    return logits.exp() / logits.exp().sum(-1, keepdim=True)

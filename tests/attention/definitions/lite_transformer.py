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
    rows = []
    for row in gated:
        positions = [
            position(row, i, kernels(row[i], weights, groups, options), place.causal)
            for i in range(len(row))
        ]
        rows.append(torch.stack(positions))
    return torch.stack(rows) @ weights["convolution.output.weight"].T


def position(row, i, kernel, causal):
    """The weighted sum of a position's neighbours, group by group."""
    groups, size = kernel.shape
    own = size - 1 if causal else size // 2
    total = torch.zeros_like(row[i])
    for place in range(size):
        j = i + place - own
        if 0 <= j < len(row):
            total = total + kernel[:, place].repeat_interleave(len(total) // groups) * row[j]
    return total


def kernels(token, weights, groups, options):
    """The kernel of every group at one position: (groups, kernel)."""
    if options.dynamic:
        logits = (weights["convolution.kernel.predict.weight"] @ token).view(groups, -1)
    else:
        logits = weights["convolution.kernel.weight"]
    return logits.exp() / logits.exp().sum(-1, keepdim=True)

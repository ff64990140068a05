"""Written as the authors' code does it: a second set of projections, applied to all tokens.

When causal, no token is global, and only the diagonals of the window that lie before remain.
"""

import math

import torch
from attention.definitions.pieces import (
    heads,
    masked_softmax,
    merge,
    no_later,
    projected,
    rotated,
)

SMALL = {"window": 16}
VARIANTS = [
    {"window": 7, "global_tokens": 0},
    {"window": 10, "global_tokens": 11},
    {"window": 6, "dilation": 3, "global_tokens": 2},
    {"window": 8, "dilation": (1, 2)},
    {"window": 1, "dilation": (5, 1), "global_tokens": 0},
    {"window": 400, "dilation": 2},
]


def definition(x, mask, weights, place, options):
    q, k, v = projected(x, weights, place)
    position = torch.arange(x.shape[1])
    num_global = 0 if place.causal else options.global_tokens
    is_global = position < num_global
    windows = [in_window(position, options.window, step) for step in dilations(place, options)]
    allowed = no_later(torch.stack(windows) | is_global, place.causal)
    y = attention(q, k, v, allowed & mask[:, None, None, :])
    if num_global:
        names = ("global_query", "global_key", "global_value")
        q, k, v = (heads(x, weights[f"{name}.weight"], place.num_heads) for name in names)
        q, k = rotated(q, place), rotated(k, place)
        everything = attention(q, k, v, mask[:, None, None, :])
        y = torch.where(is_global[:, None], everything, y)
    return merge(y, weights["output.weight"])


def dilations(place, options):
    one = isinstance(options.dilation, int)
    return [options.dilation] * place.num_heads if one else options.dilation


def in_window(position, window, dilation):
    distance = (position[:, None] - position).abs()
    return (distance % dilation == 0) & (distance // dilation <= window // 2)


def attention(q, k, v, allowed):
    return masked_softmax(q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1]), allowed) @ v

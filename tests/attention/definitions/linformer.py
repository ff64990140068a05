import math

import torch
from attention.definitions.pieces import masked_softmax, merge, projected

SMALL = {"k": 8}
VARIANTS = [
    {"k": 8, "sharing": "none"},
    {"k": 8, "sharing": "headwise"},
    {"k": 8, "sharing": "layerwise"},
    {"k": 8, "projection": "mean-pool"},
    {"k": 7, "projection": "conv"},
    {"k": 7, "projection": "conv", "sharing": "none"},
]


def definition(x, mask, weights, place, options):
    q, k, v = projected(x, weights, place)
    real = mask[:, None, :, None]
    by_key, by_value = (compression(name, mask, weights, place, options) for name in (0, -1))
    k, v = by_key.mT @ torch.where(real, k, 0.0), by_value.mT @ torch.where(real, v, 0.0)
    logits = q @ k.mT / math.sqrt(q.shape[-1])
    return merge(
        masked_softmax(logits, visible(mask, place, options)) @ v, weights["output.weight"]
    )


def compression(which, mask, weights, place, options):
    """The matrix (B or 1, H or 1, N, k) that mixes positions."""
    owned = [value for key, value in sorted(weights.items()) if key.startswith("owned.")]
    length = mask.shape[1]
    if options.projection == "linear":
        return owned[which][:, :length]
    inside = in_window(length, place, options)
    if options.projection == "mean-pool":
        inside = inside * mask[:, :, None]
        return (inside / inside.sum(1, keepdim=True).clamp_min(1))[:, None]
    size = math.ceil(place.max_length / options.k)
    kernel = owned[which][:, torch.arange(length) % size]
    return kernel[:, :, None] * inside


def in_window(length, place, options):
    """1 where a position belongs to a window, for all windows that max_length has room for."""
    window = torch.arange(length) // math.ceil(place.max_length / options.k)
    return (window[:, None] == torch.arange(options.k)).double()


def visible(mask, place, options):
    if options.projection == "linear":
        return torch.ones((), dtype=torch.bool)
    real = (in_window(mask.shape[1], place, options) * mask[:, :, None]).sum(1) > 0
    return real[:, None, None, :]

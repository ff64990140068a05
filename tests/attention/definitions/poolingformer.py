"""Written slot by slot: pool each window of real tokens, then attend with whole matrices."""

import math

import torch
from attention.definitions.pieces import heads, masked_softmax, merge, rotated

SMALL = {"window_1": 8, "window_2": 32, "kernel": 5, "stride": 4}
VARIANTS = [
    {"window_1": 8, "window_2": 32, "pool": "mean", "kernel": 4, "stride": 3},
    {"window_1": 5, "window_2": 17, "pool": "max", "kernel": 3, "stride": 5},
    {"window_1": 8, "window_2": 32, "mix": True},
    {"window_1": 8, "window_2": 32, "pool": "mean", "share_weights": True},
    {"window_1": 400, "window_2": 400, "pool": "mean", "kernel": 1, "stride": 1},
    {"window_1": 8, "layers": 0},
    {"window_1": 1, "window_2": 1, "stride": 4},
    {"window_1": 8, "window_2": 16, "stride": 16},
]


def definition(x, mask, weights, place, options):
    position = torch.arange(x.shape[1])
    q, k, v = level(x, weights, "level_1", place)
    q, k = rotated(q, place), rotated(k, place)
    distance = (position[:, None] - position).abs()
    y = joined(attention(q, k, v, distance <= options.window_1 // 2, mask))
    if options.layers != 0:
        y = y + level_two(x if options.mix else y, mask, weights, place, options)
    return y @ weights["output.weight"].T


def level_two(x, mask, weights, place, options):
    q, k, v = level(x, weights, "level_1" if options.share_weights else "level_2", place)
    position = torch.arange(x.shape[1])
    centres = position[:: options.stride]
    k, v = (
        torch.stack(
            [pool(t, mask, int(c), weights.get(f"{name}.weight"), options) for c in centres]
        )
        for name, t in (("pool_keys", k), ("pool_values", v))
    )
    k, v = k.permute(1, 2, 0, 3), v.permute(1, 2, 0, 3)
    q, k = rotated(q, place), rotated(k, place, options.stride)
    distance = (position[:, None] - centres).abs()
    return joined(attention(q, k, v, distance <= options.window_2 // 2, mask[:, centres]))


def pool(t, mask, centre, weight, options):
    """What one slot becomes, (B, H, d): each row by itself, from its real tokens only."""
    first = max(0, centre - options.kernel // 2)
    last = min(t.shape[2], centre - options.kernel // 2 + options.kernel)
    rows = []
    for row, real in zip(t, mask, strict=True):
        positions = [j for j in range(first, last) if real[j]]
        window = row[:, positions]
        if not positions:
            rows.append(torch.zeros_like(row[:, 0]))
        elif options.pool == "mean":
            rows.append(window.mean(1))
        elif options.pool == "max":
            rows.append(window.amax(1))
        else:
            logits = torch.einsum("hd,hdk->hk", row[:, centre], weight)
            taps = [j - centre + options.kernel // 2 for j in positions]
            rows.append(torch.einsum("hk,hkd->hd", logits[:, taps].softmax(-1), window))
    return torch.stack(rows)


def level(x, weights, name, place):
    return (
        heads(x, weights[f"{name}.{part}.weight"], place.num_heads)
        for part in ("query", "key", "value")
    )


def attention(q, k, v, near, real):
    logits = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    return masked_softmax(logits, near & real[:, None, None, :]) @ v


def joined(y):
    return merge(y, torch.eye(y.shape[1] * y.shape[3], dtype=y.dtype))

"""Written pixel by pixel: which block a query stands in, and whether a key is in its memory."""

import math

import torch
from attention.definitions.pieces import masked_softmax, merge, no_later, projected

SMALL = {"block": 8, "memory": 24}
VARIANTS = [
    {"block": 5, "memory": 12},
    {"block": 16, "memory": 16},
    {"block": 300, "memory": 400},
    {
        "mode": "2d",
        "image_height": 8,
        "image_width": 16,
        "block": 4,
        "memory": 8,
        "block_height": 2,
        "memory_height": 4,
    },
    {
        "mode": "2d",
        "image_height": 16,
        "image_width": 8,
        "block": 3,
        "memory": 6,
        "block_height": 5,
        "memory_height": 7,
    },
    {"mode": "2d", "image_height": 16, "image_width": 8},
]


def definition(x, mask, weights, place, options):
    q, k, v = projected(x, weights, place)
    logits = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    see = sees_on_the_line if options.mode == "1d" else sees_on_the_image
    seen = [[see(i, j, place, options) for j in range(x.shape[1])] for i in range(x.shape[1])]
    allowed = no_later(mask[:, None, None, :] & torch.tensor(seen), place.causal)
    return merge(masked_softmax(logits, allowed) @ v, weights["output.weight"])


def sees_on_the_line(i, j, place, options):
    return in_memory(i, j, options.block, options.memory, place.causal)


def sees_on_the_image(i, j, place, options):
    row, column = divmod(i, options.image_width)
    other_row, other_column = divmod(j, options.image_width)
    return in_memory(
        row, other_row, options.block_height, options.memory_height, place.causal
    ) and in_memory(column, other_column, options.block, options.memory, causal=False)


def in_memory(i, j, block, memory, causal):
    start = i // block * block
    before = memory - block if causal else (memory - block) // 2
    return start - before <= j < start - before + memory

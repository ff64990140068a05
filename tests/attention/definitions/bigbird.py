"""Written with lists: the random blocks of a query block are popped from those not yet seen.

When causal, a query block knows of no block after itself, and the row's length says nothing to it.
"""

import math

import torch
from attention.definitions.pieces import masked_softmax, merge, no_later, projected

SMALL = {"block": 8, "global_blocks": 1, "random": 2}
VARIANTS = [
    {"block": 4},
    {"block": 8, "global_blocks": 0, "random": 9},
    {"block": 8, "window": 5, "random": 0, "etc": 3},
    {"block": 5, "window": 1, "random": 1, "etc": 2, "global_blocks": 0},
    {"block": 16, "global_blocks": 8},
]


def definition(x, mask, weights, place, options):
    q, k, v = projected(x, weights, place)
    logits = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    where = place, options
    allowed = torch.stack([row_pattern(row, weights["draws"], where) for row in mask])
    allowed = no_later(allowed & mask[:, None, None, :], place.causal)
    return merge(masked_softmax(logits, allowed) @ v, weights["output.weight"])


def row_pattern(mask, draws, where):
    """What each head may see of one row: (H, N, N)."""
    _, options = where
    num_real = math.ceil((int(mask.sum()) - options.etc) / options.block)
    block_of = (torch.arange(len(mask)) - options.etc).div(options.block, rounding_mode="floor")
    block_of = block_of.clamp_min(-1)  # the extra global tokens make a block of their own
    return torch.stack([head_pattern(block_of, num_real, own, where) for own in draws.tolist()])


def head_pattern(block_of, num_real, draws, where):
    place, options = where
    blocks = range(-1, int(block_of.max()) + 1)
    known = [i + 1 if place.causal else num_real for i in blocks]
    seen = [seen_blocks(i, known[i + 1], draws[i], options) for i in blocks]
    table = torch.tensor(
        [[min(i, j) < options.global_blocks or j in seen[i + 1] for j in blocks] for i in blocks]
    )
    return table[block_of + 1][:, block_of + 1]


def seen_blocks(i, num_known, draws, options):
    near = range(i - options.window // 2, i + options.window // 2 + 1)
    seen = {j for j in [*range(options.global_blocks), *near] if 0 <= j < num_known}
    for draw in draws:
        left = [j for j in range(num_known) if j not in seen]
        if left:
            seen.add(left[draw % len(left)])
    return seen

"""Three whole matrices per head, over blocks, over chosen tokens and over near ones, and gates.

Paper arXiv 2502.11089: gates, eq. 5; compression by an MLP of a block's keys with their places in
the block, eq. 7; its attention, eq. 8, is the score of the blocks, as eq. 9 is the identity when
both kinds of block are the same; choice, eq. 11 and 12, where the first block and two local ones
are fixed and count (section 4.1); window, and keys and values for each branch, section 3.3.3. Every
head is a group of its own (eq. 10).

Repository fla-org/flash-linear-attention, fla/ops/nsa/naive.py: a block is seen compressed from its
last token on and nothing seen is zero (naive_nsa_compression), the local blocks are the query's own
and the one before (naive_nsa_topk), the window contains the query (naive_nsa); order of the gates
and no bias: fla/layers/nsa.py. Two maps with ReLU between make the MLP, as in repository
lucidrains/native-sparse-attention-pytorch, native_sparse_attention_pytorch, SparseAttention; there
the hidden layer is as wide as a block's keys together, here as one of them.

Both directions are not theirs: all blocks are seen, the local ones are three and the window is
centred. Nor is padding: an incomplete block is filled with zeros, which have no places.
"""

import math

import torch
from attention.definitions.pieces import heads, masked_softmax, merge, no_later, rotated
from torch.nn.functional import pad

SMALL = {"block": 4, "select": 5, "window": 8}
VARIANTS = [
    {},
    {"block": 1, "select": 5, "window": 2},
    {"block": 3, "select": 4, "window": 7},
    {"block": 7, "select": 6, "window": 300},
    {"block": 30, "select": 8, "window": 3},
]


def definition(x, mask, weights, place, options):
    q = rotated(heads(x, weights["query.weight"], place.num_heads), place)
    position, real = torch.arange(x.shape[1]), mask[:, None, None, :: options.block]
    last = (torch.arange(real.shape[-1]) + 1) * options.block - 1
    seen = real & (last <= position[:, None]) if place.causal else real
    scores, coarse = attention(q, *compressed(x, mask, weights, place, options), seen)

    blocks = selected(scores.detach(), seen, real, place.causal, options)
    chosen = blocks.repeat_interleave(options.block, dim=-1)[..., : x.shape[1]]
    readable = no_later(mask[:, None, None, :], place.causal)
    _, fine = attention(q, *keys_and_values(x, weights, "selected_", place), readable & chosen)

    near = window(position, place.causal, options.window)
    _, local = attention(q, *keys_and_values(x, weights, "", place), readable & near)

    gates = torch.sigmoid(x @ weights["gate.weight"].T).unflatten(-1, (place.num_heads, 3))
    gated = torch.stack([coarse, fine, local], dim=-1) * gates.transpose(1, 2)[..., None, :]
    return merge(gated.sum(-1), weights["output.weight"])


def keys_and_values(x, weights, prefix, place):
    k = heads(x, weights[f"{prefix}key.weight"], place.num_heads)
    return rotated(k, place), heads(x, weights[f"{prefix}value.weight"], place.num_heads)


def compressed(x, mask, weights, place, options):
    """One key and one value for each block: (B, H, M, d). Padding puts zeros into the maps."""
    pair = keys_and_values(x, weights, "compressed_", place)
    for kind, t in zip(("key", "value"), pair, strict=True):
        places = weights[f"{kind}_position"].repeat(t.shape[2], 1)[: t.shape[2]]
        tokens = torch.where(mask[:, None, :, None], t + places, 0.0)
        tokens = pad(tokens, (0, 0, 0, -t.shape[2] % options.block))
        blocks = tokens.unflatten(2, (-1, options.block)).flatten(3)
        hidden = (blocks @ weights[f"{kind}_compression.inner.weight"].T).clamp_min(0.0)
        yield hidden @ weights[f"{kind}_compression.outer.weight"].T


def attention(q, k, v, allowed):
    weights = masked_softmax(q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1]), allowed)
    return weights, weights @ v


def selected(scores, seen, real, causal, options):
    """Which blocks each query of each head chooses: (B, H, N, M)."""
    block = torch.arange(scores.shape[3])
    ahead = block - torch.arange(scores.shape[2])[:, None] // options.block
    fixed = (block == 0) | ((ahead >= -1) & (ahead <= (0 if causal else 1)))
    fixed = fixed & real
    ranked = torch.where(fixed, 2.0, torch.where(seen, scores, -1.0))
    best = ranked.topk(min(options.select, len(block))).indices
    chosen = torch.zeros_like(ranked, dtype=torch.bool).scatter(-1, best, value=True)
    return chosen & (fixed | seen)


def window(position, causal, size):
    distance = position[:, None] - position
    return distance < size if causal else distance.abs() <= size // 2

"""Every row and head by itself, over its real blocks only; sorting as a product of matrices.

Tay et al. (2020), section 3: a block is summarised by the sum of its tokens, two layers turn the
sum of block i into row i of R, and rows and columns of exp(R) are divided by their sums in turn.
The survey by the same author (arXiv 2009.06732, section on Sinkhorn Transformers) writes it
psi_S(X) = phi_S(F_S(BlockSum(X))) BlockShape(X).

From left to right, block i is summarised by its first token and only the blocks before it are
sorted to it, as in google-research/long-range-arena, models/sinkhorn_transformer/
sinkhorn_attention.py (`causal_mask`: "take first item"; `sort_activation='softmax'`). Rows are
divided by their sums once, columns never: a matrix without entries above its diagonal whose rows
and columns all sum to one is the identity, which sorts nothing.
"""

import math

import torch
from attention.definitions.pieces import masked_softmax, merge, projected

SMALL = {"block": 8}
VARIANTS = [{"block": 8, "sort_cut": 2}, {"block": 24, "iterations": 3, "temperature": 0.3}]


def definition(x, mask, weights, place, options):
    q, k, v = projected(x, weights, place)
    y = torch.zeros_like(q)
    for b, length in enumerate(mask.sum(dim=1).tolist()):
        for h in range(place.num_heads):
            size = place.width // place.num_heads
            own = slice(h * size, (h + 1) * size)
            scores = scored(x[b, :length, own], h, weights, place, options)
            order = from_the_past(scores) if place.causal else balanced(scores, options.iterations)
            here = [t[b, h, :length] for t in (q, k, v)]
            y[b, h, :length] = attend(here, order, place, options)
    return merge(y, weights["output.weight"])


def scored(x, head, weights, place, options):
    """Say which block belongs beside which."""
    if place.causal:
        summaries = x[:: options.block]
    else:
        summaries = torch.stack([block.sum(dim=0) for block in x.split(options.block)])
    hidden = (
        summaries @ weights["network.hidden"][head] + weights["network.hidden_bias"][head]
    ).clamp_min(0)
    logits = hidden @ weights["network.output"][head] + weights["network.output_bias"][head]
    return logits[:, : len(summaries)] / options.temperature


def balanced(scores, iterations):
    """Divide in turn, row by row and column by column."""
    order = torch.exp(scores - scores.max())
    for _ in range(iterations):
        order = order / order.sum(dim=1, keepdim=True)
        order = order / order.sum(dim=0, keepdim=True)
    return order


def from_the_past(scores):
    past = torch.ones_like(scores, dtype=torch.bool).tril(-1)
    return masked_softmax(scores, past)


def attend(qkv, order, place, options):
    q, k, v = qkv
    block, length = options.block, len(q)
    # sorting as a matrix on tokens: token (j, p) goes to place (i, p) with weight order[i, j]
    sort = torch.kron(order, torch.eye(block, dtype=q.dtype))[:, :length]
    exists = (sort > 0).any(dim=1)
    keys, values = torch.cat([sort @ k, k]), torch.cat([sort @ v, v])
    query = torch.arange(length)[:, None]
    sorted_block = torch.arange(len(sort))[None, :] // block
    if options.sort_cut:
        beside = (sorted_block < options.sort_cut).expand(length, -1)
        own = torch.zeros(length, length, dtype=torch.bool)
    else:
        beside = sorted_block == query // block
        own = query // block == query.T // block
    if place.causal:
        own = own & (query >= query.T)
    allowed = torch.cat([beside & exists, own], dim=1)
    return masked_softmax(q @ keys.T / math.sqrt(q.shape[1]), allowed) @ values

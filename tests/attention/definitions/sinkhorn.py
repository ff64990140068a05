"""Every row and head by itself, over its real blocks only; sorting as a product of matrices."""

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
            order = permutation(x[b, :length, own], h, weights, options)
            here = (t[b, h, :length] for t in (q, k, v))
            y[b, h, :length] = attend(*here, order, options)
    return merge(y, weights["output.weight"])


def permutation(x, head, weights, options):
    """Say which block belongs beside which, one division at a time."""
    summaries = torch.stack([block.mean(dim=0) for block in x.split(options.block)])
    hidden = (
        summaries @ weights["network.hidden"][head] + weights["network.hidden_bias"][head]
    ).clamp_min(0)
    logits = hidden @ weights["network.output"][head] + weights["network.output_bias"][head]
    order = torch.exp(logits[:, : len(summaries)] / options.temperature)
    for _ in range(options.iterations):
        order = order / order.sum(dim=1, keepdim=True)
        order = order / order.sum(dim=0, keepdim=True)
    return order


def attend(q, k, v, order, options):
    block, length = options.block, len(q)
    # sorting as a matrix on tokens: token (j, p) goes to place (i, p) with weight order[i, j]
    sort = torch.kron(order, torch.eye(block, dtype=q.dtype))[:, :length]
    exists = (sort > 0).any(dim=1)
    keys, values = torch.cat([sort @ k, k]), torch.cat([sort @ v, v])
    query_block = torch.arange(length)[:, None] // block
    sorted_block = torch.arange(len(sort))[None, :] // block
    if options.sort_cut:
        beside = (sorted_block < options.sort_cut).expand(length, -1)
        own = torch.zeros(length, length, dtype=torch.bool)
    else:
        beside = sorted_block == query_block
        own = query_block == query_block.T
    allowed = torch.cat([beside & exists, own], dim=1)
    return masked_softmax(q @ keys.T / math.sqrt(q.shape[1]), allowed) @ values

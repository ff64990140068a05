import math

import torch
from attention.definitions.pieces import masked_softmax, merge, no_later, projected

SMALL = {"block": 8}
VARIANTS = [{"block": 8, "neighbours": 1}, {"block": 5, "neighbours": 3}, {"block": 64}]


def definition(x, mask, weights, place, options):
    q, k, v = projected(x, weights, place)
    logits = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    block = torch.arange(x.shape[1]) // options.block
    near = (block[:, None] - block).abs() <= options.neighbours
    allowed = no_later(mask[:, None, None, :] & near, place.causal)
    return merge(masked_softmax(logits, allowed) @ v, weights["output.weight"])

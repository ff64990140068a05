import math

import torch
from attention.definitions.pieces import masked_softmax, merge, no_later, projected

SMALL = {"stride": 8}
VARIANTS = [
    {},
    {"stride": 5, "merged": True},
    {"stride": 100},
    {"stride": 8, "pattern": "fixed", "summary": 2},
    {"stride": 7, "pattern": "fixed", "summary": 3, "merged": True},
    {"stride": 8, "pattern": "fixed", "summary": 8},
    {"stride": 100, "pattern": "fixed", "summary": 4},
]


def definition(x, mask, weights, place, options):
    q, k, v = projected(x, weights, place)
    logits = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    stride = 16 if options.stride == "auto" else options.stride  # sqrt(128) = 11.3, up to 16
    first, second = {"strided": strided, "fixed": fixed}[options.pattern](
        torch.arange(x.shape[1]), stride, options.summary
    )
    parts = [first | second] * 2 if options.merged else [first, second]
    allowed = torch.stack([parts[2 * head // place.num_heads] for head in range(place.num_heads)])
    allowed = no_later(allowed & mask[:, None, None, :], place.causal)
    # Child et al. (2019), section 4.2, name no key for a token before the first summary
    itself = torch.eye(x.shape[1], dtype=torch.bool)
    allowed = allowed | (~allowed.any(dim=-1, keepdim=True) & itself)
    return merge(masked_softmax(logits, allowed) @ v, weights["output.weight"])


def strided(position, stride, summary):
    distance = (position[:, None] - position).abs()
    return distance <= stride, distance % stride == 0


def fixed(position, stride, summary):
    block = position // stride
    return block[:, None] == block, (position % stride >= stride - summary).expand(len(block), -1)

"""Clusters found by sorting, one row and head at a time; then one softmax per cluster."""

import math

import torch
from attention.definitions.pieces import heads, masked_softmax, merge, rotated

SMALL = {"clusters": 8, "block": 8}
VARIANTS = [
    {"clusters": 3, "local_share": 0.0},
    {"clusters": 1, "local_share": 0.0},
    {"clusters": 100, "block": 5},
]


def definition(x, mask, weights, place, options):
    q = heads(x, weights["query.weight"], place.num_heads)
    q = q - q.mean(-1, keepdim=True)
    q = q / torch.sqrt(q.square().mean(-1, keepdim=True) + 1e-5)
    v = heads(x, weights["value.weight"], place.num_heads)
    turned = rotated(q, place)
    logits = turned @ turned.transpose(-1, -2) / math.sqrt(q.shape[-1])
    num_local = int(options.local_share * place.num_heads)
    rows = []
    for b in range(len(x)):
        local = [near(logits[b, h], mask[b], options.block) for h in range(num_local)]
        routed = [
            mean_over_clusters(logits[b, h], clusters(q[b, h], mask[b], centroids))
            for h, centroids in enumerate(weights["centroids"], start=num_local)
        ]
        rows.append(torch.stack(local + routed))
    return merge(torch.stack(rows) @ v, weights["output.weight"])


def near(logits, mask, block):
    number = torch.arange(len(mask)) // block
    return masked_softmax(logits, mask & ((number[:, None] - number).abs() <= 1))


def clusters(q, mask, centroids):
    """The positions of every cluster."""
    real = mask.nonzero().flatten().tolist()
    window = math.ceil(len(real) / len(centroids))
    scores = (q @ centroids.T).T.tolist()
    return [sorted(real, key=lambda i: -score[i])[:window] for score in scores]


def mean_over_clusters(logits, found):
    total = torch.zeros_like(logits)
    count = torch.zeros(len(logits), 1, dtype=logits.dtype)
    for cluster in found:
        member = torch.zeros(len(logits), dtype=torch.bool)
        member[cluster] = True
        total = total + masked_softmax(logits, member[None, :] & member[:, None])
        count[cluster] += 1
    return total / count.clamp_min(1)

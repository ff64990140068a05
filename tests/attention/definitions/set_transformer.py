"""The two attentions written out: points read the sequence and think, the sequence reads them."""

import math

import torch
from attention.definitions.pieces import heads, masked_softmax, merge

SMALL = {"inducing": 5}
VARIANTS = [{"inducing": 1}, {"inducing": 64}]


def definition(x, mask, weights, place, options):
    start = weights["points.start"].expand(len(x), -1, -1)
    points = start + read(start, x, mask, part(weights, "points.read."), place)
    hidden = norm(points, weights, "points.feed_norm") @ weights["points.feed.weight"].T
    points = points + (hidden + weights["points.feed.bias"]).clamp_min(0.0)
    points = norm(points, weights, "points.norm")
    everyone = torch.ones(len(x), options.inducing, dtype=torch.bool)
    return read(x, points, everyone, part(weights, "read."), place)


def part(weights, prefix):
    return {
        key.removeprefix(prefix): value for key, value in weights.items() if key.startswith(prefix)
    }


def read(readers, x, mask, weights, place):
    q = heads(readers, weights["query.weight"], place.num_heads)
    k = heads(x, weights["key.weight"], place.num_heads)
    v = heads(x, weights["value.weight"], place.num_heads)
    logits = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    weighed = masked_softmax(logits, mask[:, None, None, :]) @ v
    return merge(weighed, weights["output.weight"])


def norm(x, weights, name):
    centred = x - x.mean(-1, keepdim=True)
    scaled = centred / torch.sqrt(centred.square().mean(-1, keepdim=True) + 1e-6)
    return scaled * weights[f"{name}.weight"] + weights[f"{name}.bias"]

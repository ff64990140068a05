import math

from attention.definitions.pieces import masked_softmax, merge, no_later, projected

SMALL = {}
VARIANTS = [{"materialised": True}]


def definition(x, mask, weights, place, options):
    q, k, v = projected(x, weights, place)
    logits = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    allowed = no_later(mask[:, None, None, :], place.causal)
    return merge(masked_softmax(logits, allowed) @ v, weights["output.weight"])

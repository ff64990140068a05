import torch
from attention.definitions.pieces import merge, no_later, projected

SMALL = {}
VARIANTS = []


def definition(x, mask, weights, place, options):
    q, k, v = projected(x, weights, place)
    q, k = (torch.where(t > 0, t + 1, torch.exp(t.clamp_max(0))) for t in (q, k))
    similarity = q @ k.transpose(-1, -2)
    similarity = torch.where(no_later(mask[:, None, None, :], place.causal), similarity, 0.0)
    normaliser = similarity.sum(-1, keepdim=True).clamp_min(1e-18)
    return merge(similarity @ v / normaliser, weights["output.weight"])

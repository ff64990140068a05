"""The whole matrix, with the cosine of every distance.

Repository OpenNLPLab/cosFormer, cosformer.py, CosformerAttention.left_product: ReLU, the sines and
cosines of both positions (together the cosine of their difference, by Ptolemy's theorem as in the
paper, arXiv 2202.08791), the normaliser and its bound. A quarter of a turn lasts `m` tokens there,
the length of the row: here that of its real tokens or, when causal, the greatest length there is,
for no token may know how many follow.
"""

import math

import torch
from attention.definitions.pieces import merge, no_later, projected

SMALL = {}
VARIANTS = []


def definition(x, mask, weights, place, options):
    q, k, v = projected(x, weights, place)
    similarity = torch.relu(q) @ torch.relu(k).transpose(-1, -2)
    similarity = similarity * cosines(mask, place)[:, None]
    similarity = torch.where(no_later(mask[:, None, None, :], place.causal), similarity, 0.0)
    normaliser = similarity.sum(-1, keepdim=True).clamp_min(1e-6)
    return merge(similarity @ v / normaliser, weights["output.weight"])


def cosines(mask, place):
    """The cosine of every distance, for each row: (B, N, N)."""
    position = torch.arange(mask.shape[1])
    span = torch.full_like(mask.sum(1), place.max_length) if place.causal else mask.sum(1)
    distance = (position[:, None] - position).double()
    return torch.cos(math.pi / 2 * distance / span[:, None, None])

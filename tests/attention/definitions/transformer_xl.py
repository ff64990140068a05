"""Written with two whole matrices: what is seen in the own segment, and what is remembered."""

import math

import torch
from attention.definitions.pieces import heads, masked_softmax, merge, no_later

SMALL = {"segment": 8, "memory": 8}
VARIANTS = [
    {"segment": 8, "memory": 0},
    {"segment": 5, "memory": 13},
    {"segment": 16, "memory": 3},
    {"segment": 1, "memory": 2},
    {"segment": 300, "memory": 300},
]


def definition(x, mask, weights, place, options):
    position = torch.arange(x.shape[1])
    start = (position // options.segment * options.segment)[:, None]
    own = start == start.T
    remembered = (position >= start - options.memory) & (position < start)
    q, k, v = (heads(x, weights[f"{name}.weight"], place.num_heads) for name in NAMES)
    k_old, v_old = (heads(x.detach(), weights[f"{name}.weight"], place.num_heads) for name in OLD)
    logits = torch.where(own, logits_of(q, k, weights, place), logits_of(q, k_old, weights, place))
    allowed = no_later(mask[:, None, None, :] & (own | remembered), place.causal)
    seen = masked_softmax(logits, allowed)
    return merge((seen * own) @ v + (seen * remembered) @ v_old, weights["output.weight"])


NAMES, OLD = ("query", "key", "value"), ("key", "value")


def logits_of(q, k, weights, place):
    """(q_i + u) . k_j + (q_i + v) . W sinusoids(i - j), for all i and j."""
    position = torch.arange(q.shape[2])
    r = distance_vectors(position[:, None] - position, weights["positions.distance.weight"], place)
    u, v = weights["positions.token_bias"], weights["positions.distance_bias"]
    by_token = torch.einsum("bhid,bhjd->bhij", q + u[:, None], k)
    by_distance = torch.einsum("bhid,ijhd->bhij", q + v[:, None], r)
    return (by_token + by_distance) / math.sqrt(q.shape[-1])


def distance_vectors(distance, weight, place):
    width = place.width
    rate = torch.tensor([10_000 ** (-2 * i / width) for i in range(width // 2)], dtype=torch.double)
    angle = distance[..., None] * rate
    sinusoids = torch.cat([torch.sin(angle), torch.cos(angle)], dim=-1)
    return (sinusoids @ weight.T).unflatten(-1, (place.num_heads, place.head_size))

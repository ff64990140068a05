"""Relative positions: logits that depend on the distance of two tokens.

    logit_ij = ((q_i + u) . k_j + (q_i + v) . r_(i-j)) / sqrt(d)        r_t = W sinusoids(t)

u and v are learned, one of each per head: how much a token or a distance matters to every query.
The products with all distances are computed at once, and each row is then shifted to where its keys
are. In memory that shift is a view whose stride from row to row is one less.

Paper:  Dai et al. (2019), https://arxiv.org/abs/1901.02860
"""

import math
from dataclasses import dataclass

import torch
from einops import rearrange
from jaxtyping import Float
from torch import Tensor, nn

from longarena.attention.ops.projection import projection
from longarena.attention.ops.visible import Allowed, visible
from longarena.shapes import Heads, Values

# heads first: they share nothing, while all problems share the vectors of distances
ByHead = Float[Tensor, "heads problems _ _"]
# what the newest token asks, or is answered
Last = Float[Tensor, "batch heads 1 _"]


@dataclass(frozen=True)
class Relation:
    """The two biases, and a vector for every distance, from the farthest key before a query on."""

    token_bias: Float[Tensor, "heads size"]
    distance_bias: Float[Tensor, "heads size"]
    vectors: Float[Tensor, "heads distances size"]


def relative_attention(
    relation: Relation, q: ByHead, k: ByHead, v: ByHead, allowed: Allowed
) -> ByHead:
    """Attend by softmax inside every problem; the queries stand where its last keys do."""
    scale = 1 / math.sqrt(q.shape[-1])
    by_token, by_distance = (
        q + bias[:, None, None] for bias in (relation.token_bias, relation.distance_bias)
    )
    logits: Tensor = torch.baddbmm(
        distance_logits(by_distance, scale * relation.vectors).flatten(0, 1),
        by_token.flatten(0, 1),
        k.flatten(0, 1).mT,
        alpha=scale,
    ).view(*q.shape[:-1], k.shape[2])
    with torch.no_grad():  # a hidden logit has a weight of zero, and hence no gradient anyway
        logits.masked_fill_(~visible(allowed).transpose(0, 1), -math.inf)
    return logits.softmax(dim=-1) @ v


def attend_from_last(relation: Relation, q: Last, k: Heads, v: Values) -> Last:
    """Attend from the token where the last key is; the relation may know farther distances."""
    vectors = relation.vectors[:, -k.shape[2] - 1 : -1]
    by_token = (q + relation.token_bias[:, None]) @ k.mT
    by_distance = (q + relation.distance_bias[:, None]) @ vectors.mT
    weights = ((by_token + by_distance) / math.sqrt(q.shape[-1])).softmax(dim=-1)
    return weights @ v


def distance_logits(
    q: Float[Tensor, "heads problems queries size"],
    vectors: Float[Tensor, "heads distances size"],
) -> Float[Tensor, "heads problems queries keys"]:
    """Compare every query with the distances of its keys; the last distance is never used.

    >>> vectors = torch.tensor([3.0, 2.0, 1.0, 0.0, -1.0, -2.0]).view(1, 6, 1)
    >>> distance_logits(torch.ones(1, 1, 2, 1), vectors)[0, 0].tolist()
    [[2.0, 1.0, 0.0, -1.0], [3.0, 2.0, 1.0, 0.0]]
    """
    heads, problems, queries, _ = q.shape
    products = rearrange(q, "h p s d -> h (p s) d") @ vectors.mT
    per_head, per_query, _ = products.stride()
    return products.as_strided(
        (heads, problems, queries, vectors.shape[1] - queries),
        (per_head, queries * per_query, per_query - 1, 1),
        queries - 1,
    )


class RelativePositions(nn.Module):
    """The learned part of a relation."""

    def __init__(self, width: int, qkv_width: int, num_heads: int) -> None:
        super().__init__()
        self.distance = projection(width, qkv_width)
        self.token_bias, self.distance_bias = (
            nn.Parameter(torch.zeros(num_heads, qkv_width // num_heads)) for _ in range(2)
        )

    def forward(self, num_queries: int, num_keys: int) -> Relation:
        weight = self.distance.weight
        distances = torch.arange(num_keys - 1, -num_queries - 1, -1, device=weight.device)
        vectors = self.distance(sinusoids(distances.to(weight.dtype), weight.shape[1]))
        return Relation(
            self.token_bias,
            self.distance_bias,
            rearrange(vectors, "t (h d) -> h t d", h=len(self.token_bias)),
        )


def sinusoids(
    distances: Float[Tensor, " distances"], width: int
) -> Float[Tensor, "distances width"]:
    """Turn distances into sines of falling frequency, then the cosines."""
    exponent = torch.arange(0, width, 2, device=distances.device).to(distances.dtype) / width
    angles = distances[:, None] / 10_000**exponent
    return torch.cat([angles.sin(), angles.cos()], dim=1)[:, :width]

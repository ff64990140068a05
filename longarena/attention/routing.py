"""Routing Transformer: tokens of similar meaning share a cluster and attend to each other there.

Queries are keys too and lie on a sphere, where k centroids per head follow them by k-means. Each
centroid collects the w positions that are nearest to it:

    q_i = norm(W x_i)                cluster c = the w positions i with the largest q_i . mu_c
    y_i = mean over the clusters c of i of sum_(j in c) softmax_j(q_i . q_j / sqrt(d)) v_j

A position in several clusters gets the mean, a position in none gets 0. The first half of the heads
is local instead: a query sees its block and the two neighbours of that (`local.py`).

The centroids are not trained by gradient. A training step adds up the queries that are nearest to
each centroid, and then the centroids move: mu_c <- unit(decay mu_c + (1 - decay) unit(sum_c)).

Paper:  Roy et al. (2020), https://arxiv.org/abs/2003.05997
Cost:   time O(N k d + N w d), memory O(N k + N d), with w = N / k; k = sqrt(N) / 2 makes it
        O(N sqrt(N) d).
Choice: a row of n real tokens has w = n / k (rounded up), whatever the batch is padded to.
Choice: only the direction of a sum counts, so the result is the same whether a batch comes whole,
        in parts (gradient accumulation) or from several devices, whose sums are added. A centroid
        that is nearest to no query stays where it is.
Choice: rotary positions turn the queries after the norm and the routing: a cluster collects tokens
        by their meaning, wherever they stand.
Choice: a forward pass inside a backward pass repeats one that was already counted, for
        checkpointing or reversible layers, so it is not counted again.
"""

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

import torch
import torch.distributed
import torch.nn.functional as F
from einops import einsum, rearrange
from jaxtyping import Bool, Float, Int
from pydantic import Field, PositiveInt
from torch import Tensor

from longarena.attention.base import Attention, Mixer, Place
from longarena.attention.cards import CARDS
from longarena.attention.local import neighbouring_blocks
from longarena.attention.ops.blocks import Pattern, attend, gather, look_up
from longarena.options import Options
from longarena.seeding import torch_rng
from longarena.shapes import Heads, Mask, Tokens, Values

Centroids: TypeAlias = Float[Tensor, "heads clusters size"]
Scores: TypeAlias = Float[Tensor, "batch heads clusters length"]
Members: TypeAlias = Int[Tensor, "batch clusters window heads"]


def num_clusters(max_length: int) -> int:
    """Take half the square root of the model's length.

    >>> num_clusters(4096), num_clusters(1024), num_clusters(1)
    (32, 16, 1)
    """
    return max(1, round(math.sqrt(max_length) / 2))


def nearest_positions(scores: Scores, mask: Mask) -> Members:
    """Find the positions with the largest scores for each centroid, the best first."""
    clusters, length = scores.shape[2:]
    scores = scores.masked_fill(~mask[:, None, None, :], -math.inf)
    window = math.ceil(length / clusters)
    return rearrange(scores.topk(window, dim=-1).indices, "b h c w -> b c w h")


def sums_by_cluster(q: Heads, scores: Scores, mask: Mask) -> Centroids:
    """Add up the real queries that are nearest to each centroid."""
    nearest = F.one_hot(scores.argmax(dim=2), scores.shape[2]).to(q.dtype)
    return einsum(nearest * mask[:, None, :, None], q, "b h n c, b h n d -> h c d")


def moved(centroids: Centroids, sums: Centroids, decay: float) -> Centroids:
    """Move each centroid a little towards its sum, on the sphere."""
    mean = decay * centroids + (1 - decay) * F.normalize(sums, dim=-1)
    is_alone = (sums == 0).all(dim=-1, keepdim=True)
    return torch.where(is_alone, centroids, F.normalize(mean, dim=-1))


def inside_clusters(members: Members, mask: Mask) -> Pattern:
    """Let every query see the members of its clusters, and average the answers of its clusters."""
    batch, clusters, window, heads = members.shape
    rows, _ = look_up(mask, members)
    taken = _taken(mask, clusters, window)
    is_member = taken[:, :, None].expand_as(rows).flatten()
    count = torch.zeros(mask.numel() * heads, dtype=torch.int64, device=mask.device)
    count.index_add_(0, rows.flatten(), is_member.long()).clamp_min_(1)

    def join(y: Tensor) -> Tensor:
        flat = rearrange(y, "p h w e -> (p w h) e") * is_member[:, None]
        total = flat.new_zeros(len(count), y.shape[-1]).index_add(0, rows.flatten(), flat)
        return rearrange(total / count[:, None], "(b n h) e -> b h n e", b=batch, h=heads)

    return Pattern(
        cut=lambda q: gather(q, rows),
        sets=lambda k: gather(k, rows),
        join=join,
        allowed=taken[:, None, None, :],
    )


def _taken(mask: Mask, clusters: int, window: int) -> Bool[Tensor, "problems window"]:
    """Tell which places of a cluster are taken; the table has room for the longest row."""
    size = (mask.sum(dim=1) + clusters - 1) // clusters
    taken = torch.arange(window, device=mask.device) < size[:, None]
    return taken.repeat_interleave(clusters, dim=0)


def is_computing_again() -> bool:
    """Tell whether a backward pass is running: a forward pass inside it only repeats another."""
    return torch._C._current_graph_task_id() != -1


@dataclass(frozen=True)
class RoutingPlan:
    """Queries, which are keys too, and the patterns of the local and of the routed heads."""

    q: Heads
    near: Pattern
    clusters: Pattern


class RoutingOptions(Options):
    """`clusters` per head, whose centroids keep `decay` of themselves in a step.

    `auto` takes half the square root of the model's length. `local_share` of the heads are local
    instead, with blocks of `block` tokens.
    """

    clusters: PositiveInt | Literal["auto"] = "auto"
    decay: float = Field(0.999, ge=0, le=1)
    local_share: float = Field(0.5, ge=0, lt=1)
    block: int = Field(64, gt=0)


class Routing(Attention[RoutingPlan]):
    """Multi-head attention inside of clusters, each head with centroids of its own."""

    card = CARDS["routing"]
    options_type = RoutingOptions
    takes_rotary = True
    projections = ("query", "value", "output")
    centroids: Tensor

    def __init__(
        self, place: Place, options: RoutingOptions, previous: Mixer | None = None
    ) -> None:
        super().__init__(place, options, previous)
        self.options = options
        self.num_local = int(options.local_share * place.num_heads)
        clusters = options.clusters
        count = num_clusters(place.max_length) if clusters == "auto" else clusters
        shape = (place.num_heads - self.num_local, count, place.head_size)
        start = torch.randn(shape, generator=torch_rng(place.seed, "centroids", place.layer))
        self.register_buffer("centroids", F.normalize(start, dim=-1))
        # not a buffer: what one device has gathered must not be overwritten by another's
        self.gathered: Centroids | None = None

    def begin_step(self, step: int) -> None:
        self.gathered = None

    def end_step(self) -> None:
        sums, self.gathered = self.gathered, None
        if torch.distributed.is_available() and torch.distributed.is_initialized():
            sums = torch.zeros_like(self.centroids) if sums is None else sums
            torch.distributed.all_reduce(sums)
        if sums is not None:
            self.centroids.copy_(moved(self.centroids, sums, self.options.decay))

    def plan(self, x: Tokens, mask: Mask) -> RoutingPlan:
        q = F.layer_norm(self.split(self.query(x)), (self.place.head_size,))
        members = self.choose(lambda: self.route(q[:, self.num_local :].detach(), mask))
        near = neighbouring_blocks(mask, self.options.block, neighbours=1)
        return RoutingPlan(self.rotated(q), near, inside_clusters(members, mask))

    def apply(self, plan: RoutingPlan, v: Values) -> Values:  # type: ignore[override]
        q, far = plan.q, self.num_local
        y = attend(plan.clusters, q[:, far:], q[:, far:], v[:, far:])
        if far == 0:
            return y
        return torch.cat([attend(plan.near, q[:, :far], q[:, :far], v[:, :far]), y], dim=1)

    def route(self, q: Heads, mask: Mask) -> Members:
        """Find the members of every cluster; in training, add up the queries nearest to each."""
        q = q.to(self.centroids.dtype)
        # in half precision too many queries would be equally near to a centroid
        with torch.autocast(q.device.type, enabled=False):
            scores = self.centroids @ q.mT
            if self.training and not is_computing_again():
                sums = sums_by_cluster(q, scores, mask)
                self.gathered = sums if self.gathered is None else self.gathered + sums
        return nearest_positions(scores, mask)

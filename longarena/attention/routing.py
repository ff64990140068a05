"""Routing Transformer: tokens of similar meaning share a cluster and attend to each other there.

Queries and keys lie on a sphere, where k centroids per head follow both by k-means. Each centroid
collects the w queries and the w keys that are nearest to it:

    q_i = norm(W_q x_i)     k_j = norm(W_k x_j)     cluster c = the w queries i with the largest
                                                    q_i . mu_c, and the w keys j likewise
    y_i = mean over the clusters c of i of sum_(j in c) softmax_j(q_i . k_j / sqrt(d)) v_j

The norm has no parameters. A query in several clusters gets the mean, a query in none gets 0. The
first half of the heads is local instead: a query, not normed, sees its block and the two neighbours
of that (`local.py`).

When causal, queries of the routed heads are keys too, and a token has one cluster, that of the
nearest centroid. It sees the last w tokens of its cluster, itself among them.

The centroids are not trained by gradient. A training step adds up the queries and keys that are
nearest to each centroid, and then the centroids move: mu_c <- unit(decay mu_c + (1 - decay)
unit(sum_c)).

Paper:  Roy et al. (2020), https://arxiv.org/abs/2003.05997
Cost:   time O(N k d + N w d), memory O(N k + N d), with w = N / k; k = sqrt(N) / 2 makes it
        O(N sqrt(N) d).
Choice: a row of n real tokens has w = n / k (rounded up), whatever the batch is padded to.
Choice: when causal, the paper's clusters are the w nearest of the whole sequence, so a later token
        would push an earlier one out of a cluster, and in generation, where later tokens are not
        there yet, clusters would be others than in training. The nearest centroid does not depend
        on other tokens, and w = max_length / k does not depend on the length.
Choice: logits are divided by sqrt(d). The authors' code does so too, but before its norm, which
        takes the factor away again; their Algorithm 1 has none. Undivided, a softmax over normed
        vectors starts near its largest entry alone.
Choice: only the direction of a sum counts, so the result is the same whether a batch comes whole,
        in parts (gradient accumulation) or from several devices, whose sums are added. A centroid
        that is nearest to nothing stays where it is. The authors also pull queries and keys
        towards their centroids by a loss of weight 1e-4; here there is none.
Choice: rotary positions turn queries and keys after the norm and the routing: a cluster collects
        tokens by their meaning, wherever they stand.
Choice: a forward pass inside a backward pass repeats one that was already counted, for
        checkpointing or reversible layers, so it is not counted again.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
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
from longarena.attention.ops.decoder import Decoder
from longarena.attention.ops.groups import GroupedTokens
from longarena.attention.ops.key_values import KeyValues, blocks_back
from longarena.attention.ops.lsh_attention import Rounds, attend_in_rounds, sort_in_rounds
from longarena.attention.ops.projection import projection
from longarena.attention.ops.prompt_decoder import PromptDecoder
from longarena.options import Options
from longarena.seeding import torch_rng
from longarena.shapes import Heads, Mask, Tokens, Values

Centroids: TypeAlias = Float[Tensor, "heads clusters size"]
FarHeads: TypeAlias = Float[Tensor, "batch far_heads length size"]
Scores: TypeAlias = Float[Tensor, "batch heads clusters length"]
Members: TypeAlias = Int[Tensor, "batch clusters window heads"]


def normed(t: Heads) -> Heads:
    """Bring the channels of queries or keys to mean 0 and variance 1."""
    # with the heads after the positions, the layout in which they are gathered
    return F.layer_norm(t.transpose(1, 2), t.shape[-1:], eps=1e-6).transpose(1, 2)


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


def own_cluster(scores: Scores, mask: Mask) -> Int[Tensor, "batch heads length"]:
    """Find the nearest centroid of every real token; padding gets a last cluster of its own."""
    return scores.argmax(dim=2).masked_fill(~mask[:, None, :], scores.shape[2])


def attend_in_turn(rounds: Rounds, q: Heads, k: Heads, v: Values) -> Values:
    """Attend to the last members of each token's own cluster."""
    return attend_in_rounds(q / math.sqrt(q.shape[-1]), k, v, rounds)


def sums_by_cluster(t: Heads, scores: Scores, mask: Mask) -> Centroids:
    """Add up the real queries or keys that are nearest to each centroid."""
    nearest = F.one_hot(scores.argmax(dim=2), scores.shape[2]).to(t.dtype)
    return einsum(nearest * mask[:, None, :, None], t, "b h n c, b h n d -> h c d")


def moved(centroids: Centroids, sums: Centroids, decay: float) -> Centroids:
    """Move each centroid a little towards its sum, on the sphere."""
    mean = decay * centroids + (1 - decay) * F.normalize(sums, dim=-1)
    is_alone = (sums == 0).all(dim=-1, keepdim=True)
    return torch.where(is_alone, centroids, F.normalize(mean, dim=-1))


def inside_clusters(queries: Members, keys: Members, mask: Mask) -> Pattern:
    """Let the queries of a cluster see its keys, and average the answers of a query's clusters."""
    batch, clusters, window, heads = queries.shape
    (query_rows, _), (key_rows, _) = look_up(mask, queries), look_up(mask, keys)
    taken = _taken(mask, clusters, window)
    is_member = taken[:, :, None].expand_as(query_rows).flatten()
    count = torch.zeros(mask.numel() * heads, dtype=torch.int64, device=mask.device)
    count.index_add_(0, query_rows.flatten(), is_member.long()).clamp_min_(1)

    def join(y: Tensor) -> Tensor:
        flat = rearrange(y, "p h w e -> (p w h) e") * is_member[:, None]
        total = flat.new_zeros(len(count), y.shape[-1]).index_add(0, query_rows.flatten(), flat)
        return rearrange(total / count[:, None], "(b n h) e -> b h n e", b=batch, h=heads)

    return Pattern(
        cut=lambda q: gather(q, query_rows),
        sets=lambda k: gather(k, key_rows),
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
class HeadsPlan:
    """Queries and keys of the local or of the routed heads, and how they attend."""

    q: Heads
    k: Heads
    attend: Callable[[Heads, Heads, Values], Values]


@dataclass(frozen=True)
class RoutingPlan:
    """The local heads, if there are any, and the routed ones."""

    near: HeadsPlan | None
    far: HeadsPlan


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
    centroids: Tensor

    def __init__(
        self, place: Place, options: RoutingOptions, previous: Mixer | None = None
    ) -> None:
        super().__init__(place, options, previous)
        self.options = options
        self.num_local = int(options.local_share * place.num_heads)
        if place.causal:
            # the queries of the routed heads are their keys
            del self.key
            if self.num_local:
                self.key = projection(place.width, self.num_local * place.head_size)
        clusters = options.clusters
        count = num_clusters(place.max_length) if clusters == "auto" else clusters
        self.window = math.ceil(place.max_length / count)
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
        local, causal = self.num_local, self.place.causal
        near_q, far_q = self.near_and_far(self.query(x))
        has_keys = local > 0 or not causal
        near_k, far_k = self.near_and_far(self.key(x)) if has_keys else (near_q, far_q)
        near = self._near(near_q, near_k, mask) if local else None
        far = self._in_turn(far_q, mask) if causal else self._clustered(far_q, far_k, mask)
        return RoutingPlan(near, far)

    def apply(self, plan: RoutingPlan, v: Values) -> Values:  # type: ignore[override]
        near, far, local = plan.near, plan.far, self.num_local
        y = far.attend(far.q, far.k, v[:, local:])
        if near is None:
            return y
        return torch.cat([near.attend(near.q, near.k, v[:, :local]), y], dim=1)

    def route(self, t: Heads, mask: Mask) -> Scores:
        """Compare with all centroids; in training, add up what is nearest to each."""
        t = t.detach().to(self.centroids.dtype)
        # in half precision too many tokens would be equally near to a centroid
        with torch.autocast(t.device.type, enabled=False):
            scores = self.centroids @ t.mT
            if self.training and not is_computing_again():
                sums = sums_by_cluster(t, scores, mask)
                self.gathered = sums if self.gathered is None else self.gathered + sums
        return scores

    def decoder(self, batch: int) -> Decoder:
        return RoutingDecoder(self, batch)

    def near_and_far(self, x: Tokens) -> tuple[Heads, FarHeads]:
        """Cut the channels into local and routed heads; keys may have no routed ones."""
        heads = rearrange(x, "b n (h d) -> b h n d", d=self.place.head_size)
        return heads[:, : self.num_local], heads[:, self.num_local :]

    def _near(self, q: Heads, k: Heads, mask: Mask) -> HeadsPlan:
        pattern = neighbouring_blocks(mask, self.options.block, 1, self.place.causal)
        return HeadsPlan(self.rotated(q), self.rotated(k), partial(attend, pattern))

    def _clustered(self, q: Heads, k: Heads, mask: Mask) -> HeadsPlan:
        q, k = normed(q), normed(k)
        queries = self.choose(lambda: nearest_positions(self.route(q, mask), mask))
        keys = self.choose(lambda: nearest_positions(self.route(k, mask), mask))
        clusters = inside_clusters(queries, keys, mask)
        return HeadsPlan(self.rotated(q), self.rotated(k), partial(attend, clusters))

    def _in_turn(self, q: Heads, mask: Mask) -> HeadsPlan:
        q = normed(q)
        own = self.choose(lambda: own_cluster(self.route(q, mask), mask))
        rows = rearrange(own, "b h n -> 1 (b h) n")
        rounds = sort_in_rounds(rows, self.window, causal=True, sees_itself=True)
        q = self.rotated(q)
        return HeadsPlan(q, q, partial(attend_in_turn, rounds))


class RoutingDecoder(PromptDecoder):
    """Keep the last keys and values of local heads; of routed ones all, and their clusters."""

    def __init__(self, mixer: Routing, batch: int) -> None:
        super().__init__(mixer)
        self.mixer = mixer
        row = mixer.zeros(batch, mixer.place.num_heads, 2 * mixer.place.head_size)
        local, block = slice(0, mixer.num_local), mixer.options.block
        self.near = KeyValues(row, blocks_back(block, block, heads=local))
        self.far = GroupedTokens(row[:, mixer.num_local :], 1, mixer.window, sees_itself=True)

    def remember(self, x: Tokens) -> None:
        self._keep(x)

    def mix(self, x: Tokens) -> Tokens:
        near_q, far_q = self._keep(x)
        near_k, near_v = self.near.seen(self.position).chunk(2, dim=-1)
        far_k, far_v = self.far.rows.rows.chunk(2, dim=-1)
        near = F.scaled_dot_product_attention(near_q, near_k, near_v)
        far = F.scaled_dot_product_attention(far_q, far_k, far_v, attn_mask=self.far.seen())
        return self.mixer.merged(torch.cat([near, far], dim=1))

    def _keep(self, x: Tokens) -> tuple[Heads, FarHeads]:
        mixer, real = self.mixer, torch.ones(x.shape[:2], dtype=torch.bool, device=x.device)
        near_q, far_q = mixer.near_and_far(mixer.query(x))
        near_v, far_v = mixer.near_and_far(mixer.value(x))
        near_k = mixer.near_and_far(mixer.key(x))[0] if mixer.num_local else near_q
        far_q = normed(far_q)
        clusters = own_cluster(mixer.route(far_q, real), real)
        near_q, near_k, far_q = (mixer.rotated(t, self.position) for t in (near_q, near_k, far_q))
        self.near.keep(torch.cat([near_k, near_v], dim=-1), self.position)
        self.far.keep(torch.cat([far_q, far_v], dim=-1), clusters[..., None].int())
        return near_q, far_q

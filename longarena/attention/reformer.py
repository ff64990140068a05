"""Reformer: attend only to tokens that a random rotation puts into the same bucket.

Queries are keys too. The largest q_i . k_j dominate a softmax, that is, vectors of similar
direction. Each of `num_hashes` rounds sorts the tokens by bucket and cuts the order into chunks:

    k_j = q_j / |q_j|                       bucket(q) = argmax [q R, -q R]
    y_i = sum_j softmax_j(q_i . k_j) v_j    over the j != i that some round shows to i:
                                            same bucket, same chunk or the one before it

A chunk is twice as long as a bucket is on average. A token that sees no other token sees itself.
Several rounds form one softmax over the union of what they show: a pair belongs to the first round
that shows it, and rounds are merged by their normalisers, as flash attention merges its blocks. The
backward pass computes the logits again.

Paper:  Kitaev et al. (2020), https://arxiv.org/abs/2001.04451
Cost:   time O(rounds N (b d + log N)), memory O(N d), with b = bucket_size.
Choice: a row of n real tokens has n / b buckets (made even), whatever the batch is padded to, and
        its first chunk has no chunk before it.
Choice: beyond 128 buckets the number of a bucket is written in digits of at most 128, each hashed
        by its own rotations (as in the authors' code), since an argmax over N / b columns would
        cost N^2 / b.
Choice: when causal, a token sees the last tokens of its own bucket before it, a chunk of them in
        every round. The paper hides the later ones of its two chunks instead; but where chunks
        begin depends on how many later tokens fall into which bucket, so a later token would
        change what an earlier one sees. For the same reason there are as many buckets as the
        longest sequence needs, however short this one is.
Choice: rotations differ by head and by training step; in eval mode they depend on the seed alone.
"""

import math
from dataclasses import dataclass
from typing import TypeAlias

import torch
import torch.nn.functional as F
from einops import rearrange
from jaxtyping import Float, Int
from pydantic import Field
from torch import Tensor

from longarena.attention.base import Attention, Mixer, Place
from longarena.attention.cards import CARDS
from longarena.attention.ops.decoder import Decoder
from longarena.attention.ops.groups import GroupedTokens
from longarena.attention.ops.lsh_attention import Rounds, attend_in_rounds, sort_in_rounds
from longarena.attention.ops.prompt_decoder import PromptDecoder
from longarena.options import Options
from longarena.seeding import torch_rng
from longarena.shapes import Heads, Mask, Tokens, Values

MAX_DIGIT = 128

Rotations: TypeAlias = Float[Tensor, "heads rounds size columns"]
Rotated: TypeAlias = Float[Tensor, "rounds batch heads length columns"]
Buckets: TypeAlias = Int[Tensor, "rounds batch heads length"]


@dataclass(frozen=True)
class ReformerPlan:
    """Queries, keys (the queries at unit length), and the sorted orders of all rounds."""

    q: Heads
    k: Heads
    rounds: Rounds


def even(count: Int[Tensor, " batch"]) -> Int[Tensor, " batch"]:
    """Round up to an even number; 1 stays 1."""
    return torch.where(count > 1, (count + 1) // 2 * 2, 1)


def digits(length: Int[Tensor, " batch"], bucket_size: int) -> Int[Tensor, "2 batch"]:
    """Count the values of the low and of the high digit of a row's bucket numbers.

    >>> digits(torch.tensor([10, 64, 65, 8192, 8193]), 64).tolist()
    [[1, 1, 2, 128, 66], [1, 1, 1, 1, 2]]
    """
    buckets = (length + bucket_size - 1) // bucket_size
    high = even((buckets + MAX_DIGIT - 1) // MAX_DIGIT)
    return torch.stack([even((buckets + high - 1) // high), high])


def num_columns(max_length: int, bucket_size: int) -> int:
    """Count the columns of the rotations: those of the low digit, then those of the high digit.

    >>> [num_columns(length, 64) for length in (10, 4096, 8192, 100_000)]
    [1, 32, 64, 71]
    """
    buckets = -(-max_length // bucket_size)
    low = max(1, min(-(-buckets // 2), MAX_DIGIT // 2))
    high = -(-buckets // MAX_DIGIT)
    return low + (-(-high // 2) if high > 1 else 0)


def hash_digit(rotated: Rotated, count: Int[Tensor, " batch"]) -> Buckets:
    """Find the index of the largest of [rotated, -rotated] in a row's first `count` / 2 columns."""
    half = (count // 2)[:, None, None]
    columns = torch.arange(rotated.shape[-1], device=rotated.device)
    unused = rotated.new_zeros(()).masked_fill(columns >= half[..., None], -math.inf)
    best = (rotated.abs().add_(unused)).argmax(-1, keepdim=True)
    return (best + half[..., None] * (rotated.gather(-1, best) < 0)).squeeze(-1)


def hash_tokens(
    q: Heads, mask: Mask, rotations: Rotations, counts: Int[Tensor, "2 batch"]
) -> Buckets:
    """Assign every real token a bucket in each round; padding gets a last bucket of its own."""
    rotated = torch.einsum("bhnd,hrdc->rbhnc", q, rotations)
    found = hash_digit(rotated[..., : MAX_DIGIT // 2], counts[0])
    if rotations.shape[-1] > MAX_DIGIT // 2:
        high = hash_digit(rotated[..., MAX_DIGIT // 2 :], counts[1])
        found = high * counts[0][:, None, None] + found
    last = counts.prod(dim=0)[:, None, None]
    return torch.where(mask[:, None, :], found, last).int()


class ReformerOptions(Options):
    """`num_hashes` rounds of hashing, with `bucket_size` tokens in a bucket on average."""

    num_hashes: int = Field(2, gt=0)
    bucket_size: int = Field(64, gt=0)


class Reformer(Attention[ReformerPlan]):
    """Multi-head attention inside the buckets of a locality-sensitive hash."""

    card = CARDS["reformer"]
    options_type = ReformerOptions
    takes_rotary = True
    projections = ("query", "value", "output")
    rotations: Tensor
    step_rotations: Tensor

    def __init__(
        self, place: Place, options: ReformerOptions, previous: Mixer | None = None
    ) -> None:
        super().__init__(place, options, previous)
        self.options = options
        self.chunk = 2 * options.bucket_size
        self.register_buffer("rotations", self._draw("eval"))
        self.register_buffer("step_rotations", self.rotations.clone(), persistent=False)

    def begin_step(self, step: int) -> None:
        self.step_rotations.copy_(self._draw(step))

    def plan(self, x: Tokens, mask: Mask) -> ReformerPlan:
        q = self.queries(x)
        buckets = self.choose(lambda: self.hashed(q.detach(), mask))
        rounds = sort_in_rounds(
            rearrange(buckets, "r b h n -> r (b h) n"), self.chunk, self.place.causal
        )
        return ReformerPlan(q, F.normalize(q, dim=-1), rounds)

    def hashed(self, q: Heads, mask: Mask) -> Buckets:
        """Assign every real token a bucket in each round."""
        length = mask.sum(dim=1)
        if self.place.causal:
            length = torch.full_like(length, self.place.max_length)
        rotations = self.step_rotations if self.training else self.rotations
        return hash_tokens(q, mask, rotations, digits(length, self.options.bucket_size))

    def apply(self, plan: ReformerPlan, v: Values) -> Values:  # type: ignore[override]
        return attend_in_rounds(plan.q, plan.k, v, plan.rounds)

    def decoder(self, batch: int) -> Decoder:
        return ReformerDecoder(self, batch)

    def _draw(self, step: int | str) -> Rotations:
        """Draw the rotations of a step: for the low digit, then for the high digit."""
        place = self.place
        columns = num_columns(place.max_length, self.options.bucket_size)
        shape = (place.num_heads, self.options.num_hashes, place.head_size, columns)
        return torch.randn(shape, generator=torch_rng(place.seed, "rotations", place.layer, step))


class ReformerDecoder(PromptDecoder):
    """Keep the keys, values and buckets of all tokens."""

    def __init__(self, mixer: Reformer, batch: int) -> None:
        super().__init__(mixer)
        self.mixer = mixer
        row = mixer.zeros(batch, mixer.place.num_heads, 2 * mixer.place.head_size)
        self.kept = GroupedTokens(row, mixer.options.num_hashes, mixer.chunk)

    def remember(self, x: Tokens) -> None:
        self._keep(x)

    def mix(self, x: Tokens) -> Tokens:
        q = self._keep(x)
        k, v = self.kept.rows.rows.chunk(2, dim=-1)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=self.kept.seen(), scale=1.0)
        return self.mixer.merged(y)

    def _keep(self, x: Tokens) -> Heads:
        mixer, real = self.mixer, torch.ones(x.shape[:2], dtype=torch.bool, device=x.device)
        q, v = mixer.queries(x, self.position), mixer.split(mixer.value(x))
        buckets = rearrange(mixer.hashed(q, real), "r b h n -> b h n r")
        self.kept.keep(torch.cat([F.normalize(q, dim=-1), v], dim=-1), buckets)
        return q

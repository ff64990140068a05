"""Sparse Transformer: two sparse patterns that together reach every position in two steps.

    strided   first: the `stride` positions on either side    second: all positions a multiple of
                                                              `stride` away
    fixed     first: the query's block of `stride` positions  second: the last `summary` positions
                                                              of every block

Half of the heads use the first part and half the second; `merged` gives every head the union.

Paper:  Child et al. (2019), https://arxiv.org/abs/1904.10509
Cost:   time O(N sqrt(N) d) for a stride near sqrt(N); memory O(N d), merged O(N sqrt(N)). Token by
        token, a head that sees columns must keep the keys and values of all positions, since each
        column is continued later; one that sees summaries keeps these alone.
Choice: the paper's patterns look back only; here they look both ways, unless causal.
Choice: with an odd number of heads the first part has one more; a single head uses the first part
        in even layers and the second in odd ones, the paper's other way to divide them.
Choice: a query whose part holds no real key (for example before the first summary) sees itself.
Choice: `stride=auto` is the square root of max_length, rounded up to a multiple of 8.
"""

import math
from dataclasses import dataclass, replace
from typing import Literal

import torch
from einops import rearrange
from jaxtyping import Bool, Float
from pydantic import Field, PositiveInt
from torch import Tensor

from longarena.attention.base import Attention, Mixer, Place
from longarena.attention.cards import CARDS
from longarena.attention.local import own_block
from longarena.attention.ops.blocks import (
    Pattern,
    Window,
    attend,
    cut,
    cut_mask,
    join,
    sliding_window,
)
from longarena.attention.ops.decoder import Decoder
from longarena.attention.ops.key_values import Sight, blocks_back, steps_back
from longarena.attention.ops.visible import visible
from longarena.attention.pattern_decoder import PatternDecoder
from longarena.errors import UserError
from longarena.options import Options
from longarena.shapes import Heads, Mask, Tokens, Values


class SparseOptions(Options):
    """A `pattern` of two parts; `merged` gives every head both."""

    pattern: Literal["strided", "fixed"] = "strided"
    stride: PositiveInt | Literal["auto"] = "auto"
    summary: int = Field(default=8, ge=1)
    merged: bool = False


def near(mask: Mask, stride: int, causal: bool) -> Pattern:
    """Let every query see `stride` positions on either side: the first part of `strided`."""
    reach = min(stride, mask.shape[1] - 1)
    window = Window(min(stride, mask.shape[1]), before=reach, after=0 if causal else reach)
    return sliding_window(mask, window)


def columns(mask: Mask, stride: int, causal: bool, besides_near: bool = False) -> Pattern:
    """Let every query see the positions at multiples of `stride`: the second part of `strided`."""
    batch, length = mask.shape
    stride = min(stride, length)
    height = -(-length // stride)
    distances = Window(height, 0, 0).distances().to(mask.device)
    allowed = cut_mask(mask, height, stride)
    if causal:
        allowed = allowed & (distances <= 0)
    if besides_near:
        allowed = allowed & (distances.abs() > 1)
    return Pattern(
        cut=lambda q: cut(q, height, stride),
        sets=lambda k: cut(k, height, stride),
        join=lambda y: join(y, batch, length, stride),
        allowed=allowed,
    )


def summaries(
    mask: Mask, stride: int, num_last: int, causal: bool, besides_own: bool = False
) -> Pattern:
    """Let every query see the last positions of all blocks: the second part of `fixed`."""
    batch, length = mask.shape
    query = torch.arange(length, device=mask.device)[:, None]
    starts = torch.arange(0, length, stride, device=mask.device)[:, None]
    key = (starts + torch.arange(stride - num_last, stride, device=mask.device)).flatten()
    allowed = rearrange(
        cut_mask(mask, stride)[..., -num_last:], "(b n) 1 1 s -> b 1 1 (n s)", b=batch
    )
    if causal:
        allowed = allowed & (key <= query)
    if besides_own:
        allowed = allowed & (key // stride != query // stride)
    return Pattern(
        cut=lambda q: q,
        sets=lambda k: rearrange(
            cut(k, stride)[:, :, -num_last:], "(b n) h s d -> b h (n s) d", b=batch
        ),
        join=lambda y: y,
        allowed=allowed,
    )


@dataclass(frozen=True)
class DividedPlan:
    """Some heads attend by the first part, the others by the second."""

    q: Heads
    k: Heads
    num_first: int
    first: Pattern
    second: Pattern
    seeing: Bool[Tensor, "#batch 1 #length 1"] | None  # queries whose second part has a real key

    def spread(self, v: Values) -> Values:
        q, k, n = self.q, self.k, self.num_first
        parts = []
        if n > 0:
            parts.append(attend(self.first, q[:, :n], k[:, :n], v[:, :n]))
        if n < v.shape[1]:
            y = attend(self.second, q[:, n:], k[:, n:], v[:, n:])
            parts.append(y if self.seeing is None else torch.where(self.seeing, y, v[:, n:]))
        # joined with the heads after the positions, the layout that the output projection reads
        return torch.cat([y.transpose(1, 2) for y in parts], dim=2).transpose(1, 2)


@dataclass(frozen=True)
class MergedPlan:
    """Every head attends by both parts, whose keys share one softmax."""

    patterns: tuple[Pattern, Pattern]
    weights: tuple[Tensor, Tensor]

    def spread(self, v: Values) -> Values:
        parts = zip(self.patterns, self.weights, strict=True)
        first, second = (part.join(part.cut(weights) @ part.sets(v)) for part, weights in parts)
        return first + second


def merged_weights(first: Pattern, second: Pattern, q: Heads, k: Heads) -> tuple[Tensor, Tensor]:
    """Take one softmax over the keys of two patterns."""
    q = q / math.sqrt(q.shape[-1])
    near = _logits(first, visible(first.allowed), q, k)
    far = _logits(second, second.allowed, q, k)
    weights = torch.cat([near, far], dim=-1).softmax(dim=-1)
    return weights[..., : near.shape[-1]], weights[..., near.shape[-1] :]


def _logits(
    pattern: Pattern, allowed: Tensor, q: Heads, k: Heads
) -> Float[Tensor, "batch heads length keys"]:
    logits = pattern.cut(q) @ pattern.sets(k).transpose(-1, -2)
    return pattern.join(logits.masked_fill(~allowed, -math.inf))


class Sparse(Attention[DividedPlan | MergedPlan]):
    """Multi-head softmax attention over one of two sparse patterns, or over both."""

    card = CARDS["sparse"]
    options_type = SparseOptions
    takes_rotary = True
    is_function = True

    def __init__(self, place: Place, options: SparseOptions, previous: Mixer | None = None) -> None:
        super().__init__(place, options, previous)
        self.options = options
        self.stride = (
            automatic_stride(place.max_length) if options.stride == "auto" else options.stride
        )
        if options.pattern == "fixed" and options.summary > self.stride:
            raise UserError(
                f"summary {options.summary} is more than the stride {self.stride}; "
                f"choose at most {self.stride}"
            )

    def plan(self, x: Tokens, mask: Mask) -> DividedPlan | MergedPlan:
        q, k = self.queries(x), self.keys(x)
        first, second = self._patterns(mask)
        if self.options.merged:
            return MergedPlan((first, second), merged_weights(first, second, q, k))
        fixed = self.options.pattern == "fixed"
        seeing = second.allowed.any(dim=-1, keepdim=True) if fixed else None
        return DividedPlan(q, k, num_first_heads(self.place), first, second, seeing)

    def apply(self, plan: DividedPlan | MergedPlan, v: Values) -> Values:  # type: ignore[override]
        return plan.spread(v)

    def decoder(self, batch: int) -> Decoder:
        return PatternDecoder(self, batch, self._sights())

    def _sights(self) -> list[Sight]:
        """Say what each part sees when it looks back; when merged, both are for all heads."""
        stride, summary = self.stride, self.options.summary
        strided = self.options.pattern == "strided"
        if self.options.merged:
            return merged_strided(stride) if strided else merged_fixed(stride, summary)
        num_first = num_first_heads(self.place)
        first, second = slice(0, num_first), slice(num_first, self.place.num_heads)
        if strided:
            return [steps_back(1, stride, first), steps_back(stride, heads=second)]
        return [blocks_back(stride, 0, first), summaries_back(stride, summary, second)]

    def _patterns(self, mask: Mask) -> tuple[Pattern, Pattern]:
        """Make the two parts; when merged, the second leaves out what the first covers."""
        stride, causal, merged = self.stride, self.place.causal, self.options.merged
        if self.options.pattern == "strided":
            return near(mask, stride, causal), columns(mask, stride, causal, merged)
        summary = self.options.summary
        return own_block(mask, stride, causal), summaries(mask, stride, summary, causal, merged)


def merged_strided(stride: int) -> list[Sight]:
    """See the last positions, and before them those at multiples of `stride`: all must be kept."""

    def show(rows: Tensor, position: int) -> Tensor:
        near = max(0, position - stride)
        return torch.cat([rows[:, :, position % stride : near : stride], rows[:, :, near:]], dim=2)

    return [Sight(show)]


def merged_fixed(stride: int, num_last: int) -> list[Sight]:
    """See the own block, and the last positions of the blocks before it."""

    def show(rows: Tensor, position: int) -> Tensor:
        return rows[:, :, : position // stride * num_last]

    return [replace(summaries_back(stride, num_last), show=show), blocks_back(stride, 0)]


def summaries_back(stride: int, num_last: int, heads: slice = slice(None)) -> Sight:
    """See the last positions of every block, and keep no other."""
    return Sight(keeps=lambda position: position % stride >= stride - num_last, heads=heads)


def automatic_stride(max_length: int) -> int:
    """Take the square root of the longest length, which makes both parts equally sparse.

    >>> automatic_stride(4096), automatic_stride(2000)
    (64, 48)
    """
    return 8 * math.ceil(math.sqrt(max_length) / 8)


def num_first_heads(place: Place) -> int:
    """Count the heads that use the first part; a single head uses it in even layers."""
    return 1 - place.layer % 2 if place.num_heads == 1 else (place.num_heads + 1) // 2

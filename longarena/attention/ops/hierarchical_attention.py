"""Attention over a hierarchy: near tokens one by one, far ones in ever larger cells.

Where two tokens meet at level l of `hierarchy.py`, they meet as two cells, with the means Q and K
of their queries and keys, and the sum V of the values:

    y_i = sum_l sum_c exp(Q_i^l . K_c^l / sqrt(d)) V_c^l
        / sum_l sum_c exp(Q_i^l . K_c^l / sqrt(d)) size_c      c: the cells that the cell of i meets

All tokens of a cell read the same there, so each level has half the work of the one below it.

Paper:  Zhu and Soricut (2021), https://arxiv.org/abs/2107.11906
Cost:   time O(N b d), memory O(N d), for blocks of b.
Choice: log(size) is added to the scores and V is a mean: the same sums, in which one set of weights
        serves numerator and denominator.
Choice: sums are relative to the largest score met, from the top level down, so that no exponential
        overflows. The authors' code takes the largest of all tokens, beside which the weights of
        some may vanish.
Choice: scores are computed again in the backward pass. There the weights of a cell are relative to
        the smallest normaliser of its tokens, so that none is above 1. Measured with one thread for
        four rows of 4,096 tokens, 256 channels and 4 heads, forward and backward without the
        projections: 329 ms and 67 MiB kept, against 620 ms and 245 MiB by autograd through copies
        of the neighbours.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from longarena.attention.ops.hierarchy import (
    Cells,
    Level,
    build_levels,
    coarsen,
    fill_blocks,
    pairs,
    refine,
)
from longarena.shapes import Heads, Mask, Values

# values may be of another size than queries and keys
CellValues: TypeAlias = Float[Tensor, "batch heads cells value_size"]
# of every cell one number: its largest score, or its normaliser
Scalars: TypeAlias = Float[Tensor, "batch heads cells 1"]
Weights: TypeAlias = Float[Tensor, "offsets blocks queries keys"]
Blocks: TypeAlias = Float[Tensor, "blocks cells_of_block size"]


def hierarchical_attention(q: Heads, k: Heads, v: Values, mask: Mask, block: int) -> Values:
    """Attend from every token to all real ones, exactly to those in its block and beside it."""
    # sums of several levels cannot be merged in half precision
    dtype = torch.promote_types(v.dtype, torch.float32)
    levels = build_levels(mask, block, dtype)
    cells = (fill_blocks(t.to(dtype), block, dim=2).contiguous() for t in (q, k, v))
    with torch.autocast(v.device.type, enabled=False):
        y: Tensor = _Attend.apply(*cells, levels)  # type: ignore[no-untyped-call]
    return y[:, :, : v.shape[2]].to(v.dtype)


class _Attend(torch.autograd.Function):
    """Merge the sums of all levels in the forward pass, recompute the scores in the backward."""

    @staticmethod
    def forward(ctx: Any, q: Cells, k: Cells, v: CellValues, levels: Sequence[Level]) -> CellValues:
        sums = _attend(Parts(q, k, v), levels)
        # heads after positions, as a projection wants them: the answers need no other copy
        turned = sums.y.transpose(1, 2)
        y = torch.empty_like(turned, memory_format=torch.contiguous_format).transpose(1, 2)
        # the largest score of a query adds 1 to its normaliser; without a key there is none
        torch.div(sums.y, sums.normaliser.clamp_min(1.0), out=y)
        total = sums.largest.add_(sums.normaliser.log())
        total.masked_fill_(sums.normaliser == 0, torch.finfo(q.dtype).max)
        ctx.levels = levels
        ctx.save_for_backward(q, k, v, y, total)
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: CellValues) -> tuple[Tensor | None, ...]:
        q, k, v, y, total = ctx.saved_tensors
        along = (dy * y).sum(dim=-1, keepdim=True)
        gradients = _gradients(Parts(q, k, v), Slopes(dy.contiguous(), along, total), ctx.levels)
        return gradients.q, gradients.k, gradients.v, None


@dataclass(frozen=True)
class Parts:
    """Queries, keys and values of the cells of a level, or their gradients."""

    q: Cells
    k: Cells
    v: CellValues

    def coarse(self, level: Level) -> "Parts":
        """Take the means that are the cells of the next level."""
        q, k = (coarsen(t, level.key_share, level.block) for t in (self.q, self.k))
        return Parts(q, k, coarsen(self.v, level.value_share, level.block))

    def refined(self, level: Level) -> "Parts":
        """Take gradients of the next level back to this one."""
        q, k = (refine(t, level.key_share) for t in (self.q, self.k))
        return Parts(q, k, refine(self.v, level.value_share))

    def zeros(self) -> "Parts":
        """Begin to add up gradients."""
        return Parts(*(torch.zeros_like(t) for t in (self.q, self.k, self.v)))

    def blocks(self, level: Level) -> Iterator[Blocks]:
        """Cut all three into blocks."""
        return (_blocks(t, level) for t in (self.q, self.k, self.v))


@dataclass(frozen=True)
class Sums:
    """What cells have read on their level and above it, relative to their largest score."""

    y: CellValues
    normaliser: Scalars
    largest: Scalars


@dataclass(frozen=True)
class Slopes:
    """Of cells: the slope of the loss along y, its product with y, the logarithm of a normaliser.

    The first two are sums over tokens, weighted by the smallest of their normalisers, which is the
    third, relative to their own.
    """

    dy: CellValues
    along: Scalars
    total: Scalars

    def coarse(self, level: Level) -> "Slopes":
        """Add up pairs: the slopes of the next level."""
        total = pairs(self.total)
        smallest = total.amin(dim=3)
        factor = (smallest[:, :, :, None] - total).exp_()
        dy, along = ((pairs(t) * factor).sum(dim=3) for t in (self.dy, self.along))
        return Slopes(*(fill_blocks(t, level.block, dim=2) for t in (dy, along, smallest)))

    def blocks(self, level: Level) -> Iterator[Blocks]:
        """Cut all three into blocks."""
        return (_blocks(t, level) for t in (self.dy, self.along, self.total))


def _attend(parts: Parts, levels: Sequence[Level]) -> Sums:
    """Read on the first of the levels, and add what the cells above read."""
    level, *above = levels
    # the levels above come first: what they hold is free again when this one is computed
    from_above = _attend(parts.coarse(level), above) if above else None
    weights = _scores(parts, level)
    largest = weights.amax(dim=-1).amax(dim=0).clamp_min_(torch.finfo(weights.dtype).min)
    weights.sub_(largest[..., None]).exp_()
    normaliser = weights.sum(dim=-1).sum(dim=0)
    y = torch.zeros_like(parts.v)
    for part, here, there in _meetings(weights, level):
        _blocks(y, level)[here].baddbmm_(part, _blocks(parts.v, level)[there])
    own = Sums(y, normaliser.view(*y.shape[:3], 1), largest.view(*y.shape[:3], 1))
    if from_above is not None:
        _add(own, from_above)
    return own


def _add(own: Sums, above: Sums) -> None:
    """Add to every cell what the cell above it has read."""
    y, normaliser, largest = pairs(own.y), pairs(own.normaliser), pairs(own.largest)
    up_y, up_normaliser, up_largest = (
        t[:, :, : y.shape[2], None] for t in (above.y, above.normaliser, above.largest)
    )
    common = torch.maximum(largest, up_largest)
    factor, up_factor = (largest - common).exp_(), (up_largest - common).exp_()
    y.mul_(factor).addcmul_(up_y, up_factor)
    normaliser.mul_(factor).addcmul_(up_normaliser, up_factor)
    largest.copy_(common)


def _gradients(parts: Parts, slopes: Slopes, levels: Sequence[Level]) -> Parts:
    """Return the gradients of queries, keys and values, with what comes down from above."""
    level, *above = levels
    gradients = (
        _gradients(parts.coarse(level), slopes.coarse(level), above).refined(level)
        if above
        else parts.zeros()
    )
    dq, dk, dv = gradients.blocks(level)
    q, k, v = parts.blocks(level)
    dy, along, total = slopes.blocks(level)
    scale = q.shape[-1] ** -0.5
    for part, here, there in _meetings(_scores(parts, level).sub_(total).exp_(), level):
        dv[there].baddbmm_(part.mT, dy[here])
        slope = torch.bmm(dy[here], v[there].mT).sub_(along[here]).mul_(part)
        dq[here].baddbmm_(slope, k[there], alpha=scale)
        dk[there].baddbmm_(slope.mT, q[here], alpha=scale)
    return gradients


def _scores(parts: Parts, level: Level) -> Weights:
    """Compare every block of queries with the blocks of keys that it meets."""
    sizes = len(level.offsets), *parts.q.shape[:2], -1, level.block, level.block
    # a copy in any case: what is added here must not stay in the bias
    scores = level.bias.expand(sizes).clone(memory_format=torch.contiguous_format).flatten(1, 3)
    q, k, _ = parts.blocks(level)
    for part, here, there in _meetings(scores, level):
        part.baddbmm_(q[here], k[there].mT, alpha=q.shape[-1] ** -0.5)
    return scores


def _meetings(weights: Weights, level: Level) -> Iterator[tuple[Tensor, slice, slice]]:
    """Yield what belongs to each offset: the weights, the blocks of queries, those of keys.

    The blocks of all rows stand in one line. Where a row ends, the bias hides the next one.
    """
    num_blocks = weights.shape[1]
    for part, offset in zip(weights, level.offsets, strict=True):
        here = slice(max(0, -offset), num_blocks - max(0, offset))
        there = slice(max(0, offset), num_blocks - max(0, -offset))
        yield part[here], here, there


def _blocks(x: Cells, level: Level) -> Blocks:
    return x.view(-1, level.block, x.shape[-1])

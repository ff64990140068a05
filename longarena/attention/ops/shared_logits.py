"""Softmax attention with logits that are the same for every sequence of a batch.

    E_ij = exp(q_i . k_j)        y_i = sum_j E_ij m_j v_j / sum_j E_ij m_j

Only the mask m and the values v differ from sequence to sequence, so E is computed once for all of
them and weights them all in one product: with the values of the batch and then its masks as the
rows of U, the numerators and denominators of all sequences are U E^T. In the backward pass, with
the slopes g = dy / denominator and -a = -dy . y / denominator as the rows of G,

    dE = G^T U      dv = g E      dq = k (dE E)^T      dk = q (dE E)

E is made tile by tile and never leaves the cache. When causal, only what is on or below its
diagonal is made.

Cost:   time O(N^2 (B d + r)) for a batch of B: three products of N x N x B d, where a kernel that
        compares every query with every key needs seven; memory O(N B d).
Choice: channels come before positions. A product of few rows with a tile is fast, one of a tile
        with few columns is not (measured on a CPU for the gradient of 8 channels of the keys: 33
        against 6 billion operations a second).
Choice: powers have base 2, as in `lsh_attention.py`. They are not relative to the largest logit of
        a query, since none can leave the range of single precision where `is_safe`.
Choice: only on a CPU. Whether the powers are safe depends on the weights, and any other device
        would have to wait for the host to read that; there the fused kernel takes the logits.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from einops import rearrange
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from longarena.shapes import Mask, Values

LOG2_E = math.log2(math.e)
# the sides of a tile, half a megabyte in single precision
QUERIES, KEYS = 256, 512
# a range of powers of two whose sums and quotients are far from the ends of single precision
SAFE_RANGE = 100.0

Factor = Float[Tensor, "heads length rank"]
Channels = Float[Tensor, "heads rank length"]
# the values of all sequences, then their masks
Rows = Float[Tensor, "heads rows length"]
Answers = Float[Tensor, "heads batch size length"]
Place = tuple[int, slice, slice]


def is_safe(q: Factor, k: Factor) -> bool:
    """Tell whether it is known that no logit is so far from zero that its power is none."""
    if q.device.type != "cpu":
        return False  # the device would have to stop and hand over the answer
    largest = [t.detach().norm(dim=-1).amax() for t in (q, k)]
    return bool(2 * LOG2_E * largest[0] * largest[1] < SAFE_RANGE)


def attend_by_shared(q: Factor, k: Factor, v: Values, keys: Mask, causal: bool = False) -> Values:
    """Attend with the same logits q . k in every sequence to the keys that it may see."""
    dtype = torch.promote_types(v.dtype, torch.float32)
    seen = keys.to(dtype)
    values = rearrange(v.to(dtype) * seen[:, None, :, None], "b h n c -> h (b c) n")
    rows = torch.cat([values, seen.expand(v.shape[1], -1, -1)], dim=1)
    with torch.autocast(v.device.type, enabled=False):
        y: Tensor = _Attend.apply(  # type: ignore[no-untyped-call]
            *(t.to(dtype).mT.contiguous() for t in (q, k)), rows, len(keys), causal
        )
    return rearrange(y, "h b c n -> b h n c").to(v.dtype)


class _Attend(torch.autograd.Function):
    """Weight the values of all sequences at once; recompute the weights in the backward pass."""

    @staticmethod
    def forward(  # noqa: PLR0913, PLR0917 - autograd takes its arguments one by one
        ctx: Any, q: Channels, k: Channels, rows: Rows, batch: int, causal: bool
    ) -> Answers:
        sums = torch.zeros_like(rows)
        for tile in _tiles(q, causal):
            sums[tile.queries].addmm_(rows[tile.keys], _weights(q, k, tile).mT)
        numerator, denominator = sums[:, :-batch], sums[:, -batch:]
        y = torch.unflatten(numerator, 1, (batch, -1)) / denominator[:, :, None]
        ctx.batch, ctx.causal = batch, causal
        ctx.save_for_backward(q, k, rows, y, denominator.clone())
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: Answers) -> tuple[Tensor | None, ...]:
        q, k, rows, y, denominator = ctx.saved_tensors
        along = (dy * y).sum(dim=2).div_(denominator)
        slopes = torch.cat([(dy / denominator[:, :, None]).flatten(1, 2), along.neg_()], dim=1)
        dq, dk, drows = (torch.zeros_like(t) for t in (q, k, rows))
        of_values, dvalues = slopes[:, : -ctx.batch], drows[:, : -ctx.batch]
        for tile in _tiles(q, ctx.causal):
            weights = _weights(q, k, tile)
            dvalues[tile.keys].addmm_(of_values[tile.queries], weights)
            dlogits = (slopes[tile.queries].mT @ rows[tile.keys]).mul_(weights)
            dq[tile.queries].addmm_(k[tile.keys], dlogits.mT)
            dk[tile.keys].addmm_(q[tile.queries], dlogits)
        return dq, dk, drows, None, None


@dataclass(frozen=True)
class _Tile:
    """Some queries and some keys of a head, and the last diagonal on which a query sees a key."""

    queries: Place
    keys: Place
    diagonal: int | None


def _tiles(q: Channels, causal: bool) -> Iterator[_Tile]:
    heads, _, length = q.shape
    every = slice(None)
    for head in range(heads):
        for first in range(0, length, QUERIES):
            last = min(first + QUERIES, length)
            end = last if causal else length
            for start in range(0, end, KEYS):
                stop = min(start + KEYS, end)
                diagonal = first - start if causal and stop > first + 1 else None
                queries, keys = slice(first, last), slice(start, stop)
                yield _Tile((head, every, queries), (head, every, keys), diagonal)


def _weights(q: Channels, k: Channels, tile: _Tile) -> Float[Tensor, "queries keys"]:
    """Return the powers of a tile; a later key has none."""
    weights = ((q[tile.queries].mT * LOG2_E) @ k[tile.keys]).exp2_()
    return weights if tile.diagonal is None else weights.tril_(tile.diagonal)

"""Softmax attention where every query has chosen blocks of keys of its own.

A query stands in several chunks (`chosen_blocks.py`), and their partial sums make one softmax:

    LSE_i = log sum_chunks exp(lse_i)       y_i = sum_chunks sum_j exp(s_ij - LSE_i) v_j

The backward pass needs only LSE and y: it computes the logits s again, and with them

    p_ij = exp(s_ij - LSE_i)     ds_ij = p_ij (dy_i . v_j - dy_i . y_i)

Cost:   time O(N k (b d + log N)), memory O(N (d + k)), and O(N k d) for one head at a time, with k
        chosen blocks of b keys.
Choice: logarithms and powers have base 2, for the reason that `lsh_attention.py` gives.
"""

import math
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from longarena.attention.ops.chosen_blocks import Arrangement, Chunks, KeyBlocks, Slots, Tile
from longarena.shapes import Heads, Values

LOG2_E = math.log2(math.e)


def attend_to_chosen(q: Heads, k: Heads, v: Values, arrangement: Arrangement) -> Values:
    """Attend from every query to the real keys of its blocks, when causal up to itself.

    A query that sees no key gets zero.
    """
    # partial softmaxes cannot be merged in half precision
    dtype = torch.promote_types(v.dtype, torch.float32)
    full = (t.to(dtype) for t in (q, k, v))
    with torch.autocast(q.device.type, enabled=False):
        y: Tensor = _Attend.apply(*full, arrangement)  # type: ignore[no-untyped-call]
    return y.to(v.dtype)


class _Attend(torch.autograd.Function):
    """Merge partial softmaxes in the forward pass, recompute the logits in the backward pass."""

    @staticmethod
    def forward(ctx: Any, q: Heads, k: Heads, v: Values, arrangement: Arrangement) -> Values:
        y, total = torch.empty_like(v), q.new_empty(*q.shape[:3], 1)
        for part in arrangement.parts():
            queries, keys, values = part.queries(q), part.keys(k), part.keys(v)
            answers, largest, sums = part.room(v), part.room(total), part.room(total)
            for tile in part.tiles():
                weights = logits(tile, tile.chunks(queries), tile.blocks(keys))
                largest[tile.at] = at_least_lowest(weights.amax(dim=-1, keepdim=True))
                weights.sub_(largest[tile.at]).exp2_()
                torch.sum(weights, dim=-1, keepdim=True, out=sums[tile.at])
                torch.bmm(weights, tile.blocks(values), out=answers[tile.at])
            logs, heights = (part.slots_of(t, -math.inf) for t in (sums.log2_(), largest))
            logs = add_logs(logs.add_(heights))
            part.put(logs, total)
            part.put(part.collected(answers, heights.sub_(logs).exp2_()), y)
        ctx.arrangement = arrangement
        ctx.save_for_backward(q, k, v, y, total)
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: Values) -> tuple[Tensor | None, ...]:
        q, k, v, y, total = ctx.saved_tensors
        along, scale = (dy * y).sum(dim=-1, keepdim=True), q.shape[-1] ** -0.5
        dq, dk, dv = (torch.empty_like(t) for t in (q, k, v))
        for part in ctx.arrangement.parts():
            keys, values, sums = part.keys(k), part.keys(v), part.queries(total, empty=math.inf)
            rows = part.queries(q), part.queries(dy), part.queries(along)
            dqueries, dkeys, dvalues = (
                part.room(q),
                keys.new_zeros(keys.shape),
                values.new_zeros(values.shape),
            )
            for tile in part.tiles():
                queries, dy_chunks, alongs = (tile.chunks(t) for t in rows)
                key_blocks = tile.blocks(keys)
                weights = logits(tile, queries, key_blocks).sub_(tile.chunks(sums)).exp2_()
                tile.add(weights.mT @ dy_chunks, dvalues)
                slope = (dy_chunks @ tile.blocks(values).mT).sub_(alongs).mul_(weights)
                tile.add(slope.mT @ queries, dkeys)
                torch.bmm(slope, key_blocks, out=dqueries[tile.at])
            # also where a query has no block: at empty places the slope is zero
            part.put(part.collected(dqueries, keys.new_full(part.place.shape, scale)), dq)
            part.put_keys(dkeys.mul_(scale), dk)
            part.put_keys(dvalues, dv)
        return dq, dk, dv, None


def logits(tile: Tile, queries: Chunks, keys: KeyBlocks) -> Float[Tensor, "chunks chunk block"]:
    """Multiply queries by keys, in base 2; what must not be seen is minus infinity."""
    start = queries.new_zeros(()).masked_fill(tile.hidden, -math.inf)
    return torch.baddbmm(start, queries, keys.mT, alpha=LOG2_E / math.sqrt(keys.shape[-1]))


def add_logs(logs: Slots) -> Float[Tensor, "queries 1"]:
    """Add up numbers, given and returned as logarithms; that of zero becomes the lowest number."""
    largest = at_least_lowest(logs.amax(dim=-1, keepdim=True))
    total = logs.sub_(largest).exp2_().sum(dim=-1, keepdim=True).log2_().add_(largest)
    return at_least_lowest(total)


def at_least_lowest(t: Tensor) -> Tensor:
    """Replace minus infinity, which cannot be subtracted from itself."""
    return t.clamp_min_(torch.finfo(t.dtype).min)

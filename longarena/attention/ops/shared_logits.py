"""Softmax attention with logits that are the same for every sequence of a batch.

    E_ij = exp(q_i . k_j - largest_i)        y_i = sum_j E_ij m_j v_j / sum_j E_ij m_j

Only the mask m and the values v differ from sequence to sequence, so E is computed once for all of
them and weights them all in one product: with the values and masks of the batch side by side in U,
the numerators and denominators of all sequences are E U. In the backward pass, with the slopes
g = dy / denominator and a = dy . y / denominator side by side in G,

    dE = G U^T (with -a for every a)      dU = E^T G     dq = (dE E) k     dk = (dE E)^T q

When causal, a query has only the powers up to itself, and the largest of these is 1.

Cost:   time O(N^2 (B d + r)) for a batch of B: three products of N x N x B d, where a kernel that
        compares every query with every key needs seven; memory O(N B d), as E is made in blocks.
Choice: logarithms and powers have base 2, as in `lsh_attention.py`.
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
BLOCK = 128
# a range of powers of two in which no number of single precision underflows
SAFE_RANGE = 100.0

Factor = Float[Tensor, "heads length rank"]
Columns = Float[Tensor, "heads length columns"]
Answers = Float[Tensor, "heads length answers"]


def is_safe(q: Factor, k: Factor) -> bool:
    """Tell whether it is known that no logit is so far below another that its power is zero.

    If the largest logit is at padding, all other powers of a sequence might be zero.
    """
    if q.device.type != "cpu":
        return False  # the device would have to stop and hand over the answer
    largest = [t.detach().norm(dim=-1).amax() for t in (q, k)]
    return bool(2 * LOG2_E * largest[0] * largest[1] < SAFE_RANGE)


def attend_by_shared(q: Factor, k: Factor, v: Values, keys: Mask, causal: bool = False) -> Values:
    """Attend with the same logits q . k in every sequence to the keys that it may see."""
    dtype = torch.promote_types(v.dtype, torch.float32)
    seen = keys[:, None, :, None].to(dtype)
    columns = torch.cat([v.to(dtype) * seen, seen.expand(-1, v.shape[1], -1, -1)], dim=-1)
    with torch.autocast(v.device.type, enabled=False):
        y: Tensor = _Attend.apply(  # type: ignore[no-untyped-call]
            q.to(dtype), k.to(dtype), rearrange(columns, "b h n c -> h n (b c)"), v.shape[0], causal
        )
    return rearrange(y, "h n (b c) -> b h n c", b=v.shape[0]).to(v.dtype)


class _Attend(torch.autograd.Function):
    """Weight the columns of all sequences at once; recompute the weights in the backward pass."""

    @staticmethod
    def forward(  # noqa: PLR0913, PLR0917 - autograd takes its arguments one by one
        ctx: Any, q: Factor, k: Factor, columns: Columns, batch: int, causal: bool
    ) -> Answers:
        blocks = _blocks(q.shape[1], causal)
        parts = [_weights(q, k, block) @ columns[:, block.keys] for block in blocks]
        sums = rearrange(torch.cat(parts, dim=1), "h n (b c) -> h n b c", b=batch)
        denominator = sums[..., -1:]
        y = (sums[..., :-1] / denominator).flatten(2)
        ctx.batch, ctx.causal = batch, causal
        ctx.save_for_backward(q, k, columns, y, denominator)
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: Answers) -> tuple[Tensor | None, ...]:
        q, k, columns, y, denominator = ctx.saved_tensors
        dy, y = (rearrange(t, "h n (b c) -> h n b c", b=ctx.batch) for t in (dy, y))
        along = (dy * y).sum(dim=-1, keepdim=True)
        slopes = (torch.cat([dy, -along], dim=-1) / denominator).flatten(2)
        dk, dcolumns = torch.zeros_like(k), torch.zeros_like(columns)
        dq = []
        for block in _blocks(q.shape[1], ctx.causal):
            queries, keys = block.queries, block.keys
            weights, slope = _weights(q, k, block), slopes[:, queries]
            dcolumns[:, keys].baddbmm_(weights.mT, slope)
            dlogits = (slope @ columns[:, keys].mT).mul_(weights)
            dq.append(dlogits @ k[:, keys])
            dk[:, keys].baddbmm_(dlogits.mT, q[:, queries])
        return torch.cat(dq, dim=1), dk, dcolumns, None, None


@dataclass(frozen=True)
class _Block:
    """Some queries, and the keys that any of them may see."""

    queries: slice
    keys: slice
    causal: bool


def _blocks(length: int, causal: bool) -> Iterator[_Block]:
    for first in range(0, length, BLOCK):
        last = min(first + BLOCK, length)
        yield _Block(slice(first, last), slice(last if causal else length), causal)


def _weights(q: Factor, k: Factor, block: _Block) -> Float[Tensor, "heads queries keys"]:
    """Return the powers of a block of queries, scaled so that the largest of each query is 1."""
    logits = (q[:, block.queries] * LOG2_E) @ k[:, block.keys].mT
    if block.causal:
        later = torch.ones(logits.shape[1:], dtype=torch.bool).triu(block.queries.start + 1)
        logits.masked_fill_(later, -math.inf)
    return logits.sub_(logits.amax(dim=-1, keepdim=True)).exp2_()

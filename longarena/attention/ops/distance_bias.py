"""Attention with a learned bias for every distance, and any weighing of the logits.

    y_i = sum_j weigh(L_i)_j v_j      L_ij = scale_i q_i . k_j + bias_(j - i), or -inf where hidden

A fused kernel can neither train the biases nor weigh by anything but a softmax. So logits are made
for a block of queries at a time, and made again in the backward pass. Sequences or pieces of them,
the problems, share the biases.

Cost:   time O(N^2 d); memory O(N d): a block has about `LOGITS` logits, or one query.
Choice: a gradient of our own, which adds up those of k and v in place; under torch's checkpointing
        every block returns whole ones. Measured with one thread, softmax, one row, 64 channels of
        q and k, 512 of v, forward and backward, against checkpointing: 1.03 s and 1.10 s for 4,096
        tokens, 4.3 s and 4.7 s for 8,192, 19 s and 25 s for 16,384.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor
from torch.autograd.function import once_differentiable

LOGITS = 1 << 20

Queries = Float[Tensor, "problems queries size"]
Points = Float[Tensor, "problems length size"]
Said = Float[Tensor, "problems length value_size"]
Answers = Float[Tensor, "problems queries value_size"]
Biases = Float[Tensor, " distances"]
Seen = Bool[Tensor, "problems length"]
# 0 at a key that is seen, -inf at any other
Hidden = Float[Tensor, "problems 1 length"]
Rows = Float[Tensor, "queries keys"]
Logits = Float[Tensor, "problems queries keys"]


class Weighing(ABC):
    """How the logits of a query are scaled and become the weights of its keys; -inf gives 0."""

    @abstractmethod
    def scaled(self, q: Queries, seen: Seen, causal: bool) -> Queries:
        """Scale the queries, and hence their products with the keys."""

    @abstractmethod
    def weights(self, logits: Logits) -> Logits:
        """Weigh every key of every query."""

    @abstractmethod
    def slopes(self, logits: Logits, weights: Logits, dweights: Logits) -> Logits:
        """Turn the gradient of the weights, which may be overwritten, into that of the logits."""


@dataclass(frozen=True)
class View:
    """What a query sees, at which bias, and how it weighs that.

    There are 2 N - 1 biases for N positions, from the farthest key before a query on. There may be
    fewer queries than keys, and these stand at the last positions.
    """

    biases: Biases
    seen: Seen
    causal: bool
    weighing: Weighing


def attend_by_distance(q: Queries, k: Points, v: Said, view: View) -> Answers:
    """Attend inside every problem to the keys that are seen."""
    dtype = torch.promote_types(v.dtype, torch.float32)
    q, k, values, biases = (t.to(dtype) for t in (q, k, v, view.biases))
    q = view.weighing.scaled(q, view.seen, view.causal)
    hidden = torch.zeros_like(view.seen, dtype=dtype).masked_fill(~view.seen, -math.inf)
    with torch.autocast(v.device.type, enabled=False):
        y: Tensor = _Attend.apply(  # type: ignore[no-untyped-call]
            q, k, values, biases, hidden[:, None], view
        )
    return y.to(v.dtype)


def spread(biases: Biases, num_queries: int) -> Rows:
    """Give every query its row of biases: that of the query before it, moved right by one.

    >>> spread(torch.tensor([1.0, 2.0, 3.0, 4.0]), 2).tolist()
    [[2.0, 3.0, 4.0], [1.0, 2.0, 3.0]]
    """
    size = len(biases)
    rows = F.pad(biases, (0, 1)).repeat(num_queries)
    # read as if a row were one shorter, every row begins one later than the row before it
    return rows[: num_queries * size].view(num_queries, size)[:, num_queries - 1 :]


def collect(rows: Rows) -> Biases:
    """Add up what belongs to the same distance: the gradient of `spread`.

    >>> collect(torch.tensor([[2.0, 3.0, 4.0], [1.0, 2.0, 3.0]])).tolist()
    [1.0, 4.0, 6.0, 4.0]
    """
    num_queries = len(rows)
    flat = F.pad(F.pad(rows, (num_queries - 1, 0)).flatten(), (0, num_queries))
    return flat.view(num_queries, -1).sum(dim=0)[:-1]


@dataclass(frozen=True)
class _Block:
    """The queries of a block, the keys that they may see, and the distances between them."""

    queries: slice
    keys: slice
    distances: slice
    first_position: int

    def rows(self, biases: Biases, causal: bool) -> Rows:
        """Return the biases of all pairs, -inf where a key comes too late."""
        rows = spread(biases[self.distances], self.queries.stop - self.queries.start)
        if causal:
            later = torch.ones_like(rows, dtype=torch.bool).triu(self.first_position + 1)
            rows = rows.masked_fill(later, -math.inf)
        return rows


def _blocks(num_queries: int, length: int, causal: bool) -> Iterator[_Block]:
    size, before = max(1, LOGITS // length), length - num_queries
    for start in range(0, num_queries, size):
        stop = min(start + size, num_queries)
        first, last = before + start, before + stop
        end = last if causal else length
        distances = slice(length - last, length - 1 - first + end)
        yield _Block(slice(start, stop), slice(end), distances, first)


def _groups(num_problems: int, rows: Rows) -> Iterator[slice]:
    size = max(1, LOGITS // rows.numel())
    return (slice(first, first + size) for first in range(0, num_problems, size))


class _Attend(torch.autograd.Function):
    """Attend block by block; make the logits again in the backward pass."""

    @staticmethod
    def forward(  # noqa: PLR0913, PLR0917 - autograd takes its tensors one by one
        ctx: Any, q: Queries, k: Points, v: Said, biases: Biases, hidden: Hidden, view: View
    ) -> Answers:
        ctx.save_for_backward(q, k, v, biases, hidden)
        ctx.view = view
        y = v.new_empty(*q.shape[:2], v.shape[2])
        for block in _blocks(q.shape[1], k.shape[1], view.causal):
            queries, keys = block.queries, block.keys
            rows = block.rows(biases, view.causal)
            for some in _groups(len(q), rows):
                logits = torch.baddbmm(rows, q[some, queries], k[some, keys].mT)
                weights = view.weighing.weights(logits.add_(hidden[some, :, keys]))
                y[some, queries] = weights @ v[some, keys]
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: Answers) -> tuple[Tensor | None, ...]:
        q, k, v, biases, hidden = ctx.saved_tensors
        weighing = ctx.view.weighing
        dq, dk, dv, dbiases = (torch.zeros_like(t) for t in (q, k, v, biases))
        for block in _blocks(q.shape[1], k.shape[1], ctx.view.causal):
            queries, keys = block.queries, block.keys
            rows = block.rows(biases, ctx.view.causal)
            drows = torch.zeros_like(rows)
            for some in _groups(len(q), rows):
                logits = torch.baddbmm(rows, q[some, queries], k[some, keys].mT)
                weights = weighing.weights(logits.add_(hidden[some, :, keys]))
                dv[some, keys].baddbmm_(weights.mT, dy[some, queries])
                dweights = dy[some, queries] @ v[some, keys].mT
                slopes = weighing.slopes(logits, weights, dweights)
                dq[some, queries] = slopes @ k[some, keys]
                dk[some, keys].baddbmm_(slopes.mT, q[some, queries])
                drows += slopes.sum(dim=0)
            dbiases[block.distances] += collect(drows)
        return dq, dk, dv, dbiases, None, None

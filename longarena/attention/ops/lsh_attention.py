"""One softmax over the pairs that several rounds of sorting show, without an N x N matrix.

A round sorts the tokens by bucket and cuts the order into chunks. A query sees a range of places in
that order, inside its own chunk and the one before:

    both ways   the places of its bucket in these two chunks
    causal      the last places of its bucket before it, as many as a chunk has. Where chunks begin
                depends on later tokens; what is seen does not

A pair that several rounds show counts once: it belongs to the first of them. Each round gives a
partial softmax with its normaliser, and

    LSE_i = log sum_rounds exp(lse_i)        y_i = sum_rounds exp(lse_i - LSE_i) y_i(round)

The backward pass needs only LSE and y: it computes the logits s of a round again, and with them

    p_ij = exp(s_ij - LSE_i)     ds_ij = p_ij (dy_i . v_j - dy_i . y_i)

Cost:   time O(rounds N c d), memory O(N d + N c) while one round is computed, for chunks of c.
Choice: logarithms and powers have base 2, since exp2 is fast where it underflows, which it does at
        every hidden pair (measured on a CPU: 5 ms against 83 ms for 8 million logits, half of them
        hidden).
Choice: unless a token `sees_itself`, its own key has the lowest logit that is not hidden, so it
        counts only if no other key is seen.
"""

import math
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable

from longarena.shapes import Heads, Values

LOG2_E = math.log2(math.e)

Rows = Float[Tensor, "tokens size"]
ValueRows = Float[Tensor, "tokens value_size"]
Chunks = Float[Tensor, "chunks chunk size"]
Windows = Float[Tensor, "chunks window size"]
PerToken = Int[Tensor, "rounds tokens"]


@dataclass(frozen=True)
class Rounds:
    """The orders of all rounds; tokens and places are numbered across all rows and heads.

    `order` holds the token at every place, `place` the place of every token; a token sees the
    places from `low` to `high`, without `high`. The number of places of a row is a multiple of
    `chunk`, so the last ones may be empty: no token sees them, and they see nothing.
    """

    order: Int[Tensor, "rounds places"]
    place: PerToken
    low: PerToken
    high: PerToken
    empty: Bool[Tensor, " places"]
    chunk: int
    sees_itself: bool = False


def sort_in_rounds(
    buckets: Int[Tensor, "rounds rows length"],
    chunk: int,
    causal: bool = False,
    sees_itself: bool = False,
) -> Rounds:
    """Sort the tokens of each row by (bucket, position) and find what each of them sees."""
    num_rounds, rows, length = buckets.shape
    chunk = min(chunk, length)
    extra = -length % chunk
    first_token = torch.arange(rows, device=buckets.device)[:, None] * length
    first_place = torch.arange(rows, device=buckets.device)[:, None] * (length + extra)

    in_order, order = buckets.sort(dim=-1, stable=True)
    place = torch.empty_like(order).scatter_(
        -1, order, torch.arange(length, device=order.device).expand_as(order)
    )
    first_of_bucket = torch.searchsorted(in_order, buckets)
    if causal:
        high = place + 1 if sees_itself else place
        low = torch.maximum(high - chunk, first_of_bucket)
    else:
        start = place // chunk * chunk
        low = torch.maximum(start - chunk, first_of_bucket)
        high = torch.minimum(start + chunk, torch.searchsorted(in_order, buckets, right=True))
    # half as wide as the indices of torch, they are compared in half the time
    place, low, high = ((t + first_place).view(num_rounds, -1).int() for t in (place, low, high))
    order = F.pad(order + first_token, (0, extra)).view(num_rounds, -1)
    empty = torch.arange(length + extra, device=order.device).expand(rows, -1) >= length
    return Rounds(order, place, low, high, empty.flatten(), chunk, sees_itself)


def attend_in_rounds(q: Heads, k: Heads, v: Values, rounds: Rounds) -> Values:
    """Attend from every query to the keys that some round shows it; logits are q . k."""
    # partial softmaxes cannot be merged in half precision
    dtype = torch.promote_types(v.dtype, torch.float32)
    flat = (t.to(dtype).reshape(-1, t.shape[-1]) for t in (q, k, v))
    with torch.autocast(q.device.type, enabled=False):
        y: Tensor = _Attend.apply(*flat, rounds)  # type: ignore[no-untyped-call]
    return y.view(v.shape).to(v.dtype)


class _Attend(torch.autograd.Function):
    """Merge partial softmaxes in the forward pass, recompute the logits in the backward pass."""

    @staticmethod
    def forward(ctx: Any, q: Rows, k: Rows, v: ValueRows, rounds: Rounds) -> ValueRows:
        y, total = _attend_round(q, k, v, rounds, 0)
        for index in range(1, len(rounds.order)):
            part, normaliser = _attend_round(q, k, v, rounds, index)
            merged = torch.logaddexp2(total, normaliser)
            y.mul_((total - merged).exp2_()).addcmul_(part, (normaliser - merged).exp2_())
            total = merged
        ctx.rounds = rounds
        ctx.save_for_backward(q, k, v, y, total)
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: ValueRows) -> tuple[Tensor | None, ...]:
        q, k, v, y, total = ctx.saved_tensors
        along = (dy * y).sum(dim=-1, keepdim=True)
        dq, dk, dv = (torch.zeros_like(t) for t in (q, k, v))
        for index in range(len(ctx.rounds.order)):
            order = Order(ctx.rounds, index)
            queries, keys, values = order.chunks(q), order.windows(k), order.windows(v)
            weights = order.logits(queries, keys).sub_(order.chunks(total)).exp2_()
            dy_chunks = order.chunks(dy)
            dv += order.fold(weights.transpose(1, 2) @ dy_chunks)
            slope = (dy_chunks @ values.transpose(1, 2)).sub_(order.chunks(along)).mul_(weights)
            dq += order.tokens(slope @ keys)
            dk += order.fold(slope.transpose(1, 2) @ queries)
        return dq, dk, dv, None


def _attend_round(
    q: Rows, k: Rows, v: ValueRows, rounds: Rounds, index: int
) -> tuple[ValueRows, Float[Tensor, "tokens 1"]]:
    """Return the softmax over the keys that one round shows, and the log of its normaliser."""
    order = Order(rounds, index)
    weights = order.logits(order.chunks(q), order.windows(k))
    largest = weights.amax(dim=-1, keepdim=True)
    total = weights.sub_(largest).exp2_().sum(dim=-1, keepdim=True)
    y = (weights @ order.windows(v)).div_(total)
    return order.tokens(y), order.tokens(total.log2_().add_(largest))


class Order:
    """One round: tokens cut into chunks, and for every chunk a window of it and the one before."""

    def __init__(self, rounds: Rounds, index: int) -> None:
        self.rounds, self.index, self.size = rounds, index, rounds.chunk
        self.queries = rounds.order[index]
        self.keys = F.pad(self.queries, (self.size, 0))

    def chunks(self, t: Rows) -> Chunks:
        """Put rows into this order: (tokens, d) -> (chunks, c, d)."""
        return t.index_select(0, self.queries).view(-1, self.size, t.shape[-1])

    def tokens(self, t: Chunks) -> Rows:
        """Put rows back into the order of the tokens."""
        return t.reshape(-1, t.shape[-1]).index_select(0, self.rounds.place[self.index])

    def windows(self, t: Rows) -> Windows:
        """Return for each chunk the rows of the chunk before, then its own: (chunks, 2c, d)."""
        rows = t.index_select(0, self.keys)
        return rows.unfold(0, 2 * self.size, self.size).transpose(1, 2)

    def fold(self, t: Windows) -> Rows:
        """Add up the entries of overlapping windows that belong to the same token."""
        before, own = torch.split(t, self.size, dim=1)
        own[:-1] += before[1:]
        return self.tokens(own)

    def logits(self, queries: Chunks, keys: Windows) -> Float[Tensor, "chunks chunk window"]:
        """Multiply queries by keys, in base 2, and hide the pairs that this round does not show."""
        logits = (queries * LOG2_E) @ keys.transpose(1, 2)
        lowest = torch.finfo(logits.dtype).min
        logits.masked_fill_(self.hidden(), lowest)
        if self.index == 0 and not self.rounds.sees_itself:
            logits.diagonal(self.size, 1, 2).fill_(lowest / 2)
        return logits

    def hidden(self) -> Bool[Tensor, "chunks chunk window"]:
        """Tell which pairs this round does not show, or leaves to an earlier round."""
        first, last = -self.size, len(self.queries)
        places = torch.arange(first, last, dtype=torch.int32, device=self.queries.device)
        hidden = ~self._sees(self.index, places)
        for earlier in range(self.index):
            hidden |= self._sees(earlier, self.rounds.place[earlier].index_select(0, self.keys))
        return hidden

    def _sees(
        self, index: int, places: Int[Tensor, " keys"]
    ) -> Bool[Tensor, "chunks chunk window"]:
        """Tell whether a query sees the place that a key has in a round."""
        places = places.unfold(0, 2 * self.size, self.size)[:, None, :]
        low = self.rounds.low[index].index_select(0, self.queries)
        high = self.rounds.high[index].index_select(0, self.queries)
        high = high.masked_fill(self.rounds.empty, 0)
        low, high = (t.view(-1, self.size, 1) for t in (low, high))
        return (places >= low) & (places < high)

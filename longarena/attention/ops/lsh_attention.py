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

Cost:   time O(rounds N c d), memory O(N d), for chunks of c: logits exist for a few chunks at a
        time, so that they stay in the cache.
Choice: logarithms and powers have base 2, since exp2 is fast where it underflows, which it does at
        every hidden pair (measured on a CPU: 5 ms against 83 ms for 8 million logits, half of them
        hidden).
Choice: hidden pairs are found in floating point, as those far from the middle of what a query sees,
        and lowered in the product that makes the logits. Comparisons that give truth values, and
        filling by them, take longer on a CPU than that product.
Choice: unless a token `sees_itself`, its own key has the lowest logit that is not hidden, so it
        counts only if no other key is seen.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable

from longarena.shapes import Heads, Values

LOG2_E = math.log2(math.e)
# how many logits are made at a time
LOGITS = 1 << 18

Rows = Float[Tensor, "tokens size"]
ValueRows = Float[Tensor, "tokens value_size"]
Chunks = Float[Tensor, "chunks chunk size"]
Windows = Float[Tensor, "chunks window size"]
# those of some chunks
Logits = Float[Tensor, "tile chunk window"]
# what is added up for the keys: of the chunk before the first, then of every chunk
Sums = Float[Tensor, "chunks+1 chunk size"]
PerToken = Int[Tensor, "rounds tokens"]


@dataclass(frozen=True)
class Rounds:
    """The orders of all rounds; tokens and places are numbered across all rows and heads.

    `order` holds the token at every place, `place` the place of every token; a token sees the
    places of its row from `low` to `high`, without `high`, which count from the start of the row.
    The number of places of a row, `row`, is a multiple of `chunk`, so the last ones may be empty:
    no token sees them, and they see nothing.
    """

    order: Int[Tensor, "rounds places"]
    place: PerToken
    low: PerToken
    high: PerToken
    empty: Bool[Tensor, " places"]
    row: int
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
    # half as wide as the indices of torch
    place, low, high = (t.view(num_rounds, -1).int() for t in (place + first_place, low, high))
    order = F.pad(order + first_token, (0, extra)).view(num_rounds, -1)
    empty = torch.arange(length + extra, device=order.device).expand(rows, -1) >= length
    return Rounds(order, place, low, high, empty.flatten(), length + extra, chunk, sees_itself)


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
        gradients: list[Tensor] = []
        for index in range(len(ctx.rounds.order)):
            order = Order(ctx.rounds, index, q.dtype)
            queries, dy_chunks, totals, alongs = map(order.chunks, (q, dy, total, along))
            keys, values = order.windows(k), order.windows(v)
            dqueries, dkeys, dvalues = torch.empty_like(queries), order.room(k), order.room(v)
            for tile in order.tiles():
                weights = order.logits(tile, queries, keys).sub_(totals[tile]).exp2_()
                order.add(weights, dy_chunks, tile, dvalues)
                slope = (dy_chunks[tile] @ values[tile].mT).sub_(alongs[tile]).mul_(weights)
                order.add(slope, queries, tile, dkeys)
                dqueries[tile] = slope @ keys[tile]
            found = [order.tokens(t) for t in (dqueries, dkeys[1:], dvalues[1:])]
            gradients = list(map(Tensor.add_, found, gradients)) if index else found
        return *gradients, None


def _attend_round(
    q: Rows, k: Rows, v: ValueRows, rounds: Rounds, index: int
) -> tuple[ValueRows, Float[Tensor, "tokens 1"]]:
    """Return the softmax over the keys that one round shows, and the log of its normaliser."""
    order = Order(rounds, index, q.dtype)
    queries, keys, values = order.chunks(q), order.windows(k), order.windows(v)
    y = v.new_empty(*queries.shape[:2], v.shape[1])
    normaliser = q.new_empty(*queries.shape[:2], 1)
    for tile in order.tiles():
        weights = order.logits(tile, queries, keys)
        largest = weights.amax(dim=-1, keepdim=True)
        total = weights.sub_(largest).exp2_().sum(dim=-1, keepdim=True)
        y[tile] = (weights @ values[tile]).div_(total)
        normaliser[tile] = total.log2_().add_(largest)
    return order.tokens(y), order.tokens(normaliser)


@dataclass(frozen=True)
class Sight:
    """Where the keys of every chunk stand, and the middle and half the length of what is seen."""

    places: Float[Tensor, "chunks 1 window"]
    middle: Float[Tensor, "chunks chunk 1"]
    half: Float[Tensor, "chunks chunk 1"]

    def hidden(self, tile: slice) -> Logits:
        """Return 1 for every pair that is not seen, and 0 for any other."""
        return self._distances(tile).ge_(self.half[tile])

    def seen(self, tile: slice) -> Logits:
        """Return 1 for every pair that is seen, and 0 for any other."""
        return self._distances(tile).lt_(self.half[tile])

    def _distances(self, tile: slice) -> Logits:
        return (self.places[tile] - self.middle[tile]).abs_()


class Order:
    """One round: tokens cut into chunks, and for every chunk a window of it and the one before."""

    def __init__(self, rounds: Rounds, index: int, dtype: torch.dtype) -> None:
        self.rounds, self.index, self.size, self.dtype = rounds, index, rounds.chunk, dtype
        self.queries = rounds.order[index]
        self.keys = F.pad(self.queries, (self.size, 0))
        self.num_chunks = len(self.queries) // self.size
        self.own, self.earlier = self._own_sight(), [self._sight(i) for i in range(index)]

    def tiles(self) -> Iterator[slice]:
        """Divide the chunks."""
        step = max(1, LOGITS // (2 * self.size**2))
        return (slice(i, min(i + step, self.num_chunks)) for i in range(0, self.num_chunks, step))

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

    def room(self, t: Rows) -> Float[Tensor, "sums chunk size"]:
        """Make room for the sums of the keys; there is nothing before the first chunk."""
        total = t.new_empty(self.num_chunks + 1, self.size, t.shape[-1])
        total[0] = 0.0
        return total

    def add(self, weights: Logits, chunks: Chunks, tile: slice, total: Sums) -> None:
        """Add up what queries say to the keys of their windows, by weights; tiles come in order."""
        before, own = torch.split(weights.mT, self.size, dim=1)
        # a chunk is first of all its own window, so that its sums begin here
        total[tile.start + 1 : tile.stop + 1].baddbmm_(own, chunks[tile], beta=0)
        total[tile].baddbmm_(before, chunks[tile])

    def logits(self, tile: slice, queries: Chunks, keys: Windows) -> Logits:
        """Multiply queries by keys, in base 2, and hide the pairs that this round does not show."""
        hidden = self.own.hidden(tile)
        for sight in self.earlier:  # an earlier round has what it sees
            torch.maximum(hidden, sight.seen(tile), out=hidden)
        lowest = torch.finfo(self.dtype).min
        logits = hidden.baddbmm_(queries[tile], keys[tile].mT, beta=lowest, alpha=LOG2_E)
        if self.index == 0 and not self.rounds.sees_itself:
            logits.diagonal(self.size, 1, 2).fill_(lowest / 2)
        return logits

    def _own_sight(self) -> Sight:
        """Count places from the start of every window, which are the same for all windows."""
        places = torch.arange(2 * self.size, device=self.queries.device).to(self.dtype)
        chunk = torch.arange(self.num_chunks, device=self.queries.device)
        first = (chunk % (self.rounds.row // self.size) - 1) * self.size
        middle, half = self._range(self.index)
        places = places.expand(self.num_chunks, 1, -1)
        return Sight(places, middle - first[:, None, None], half)

    def _sight(self, index: int) -> Sight:
        """Count places from the start of a row; other rows are hidden in this round anyway."""
        places = (self.rounds.place[index] % self.rounds.row).to(self.dtype)
        windows = places.index_select(0, self.keys).unfold(0, 2 * self.size, self.size)
        return Sight(windows[:, None], *self._range(index))

    def _range(self, index: int) -> tuple[Chunks, Chunks]:
        """Return the middle and half the length of what every query sees in a round."""
        low, high = (
            t[index].index_select(0, self.queries).to(self.dtype)
            for t in (self.rounds.low, self.rounds.high)
        )
        half = ((high - low) / 2).masked_fill_(self.rounds.empty, 0.0)
        return ((low + high - 1) / 2).view(-1, self.size, 1), half.view(-1, self.size, 1)

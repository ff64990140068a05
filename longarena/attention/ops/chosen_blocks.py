"""Bring the queries to the blocks of keys that they chose.

To gather the keys that each query chose would copy a key many times. So the queries go to the keys:
all choices are sorted by block, and the queries of a block are put into chunks of c, each of which
is a small dense problem with the b keys of its block. A query stands in several chunks.

Only the device knows how many queries chose a block. But N k choices among N / b blocks never need
more than N k / c + N / b chunks, so there are always that many, and nothing is read back.

    Arrangement    where every query stands, made once by `arrange`
    Part           some heads, whose queries and keys are rows one behind the other
    Tile           some chunks of a part, few enough to stay in the cache
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from longarena.attention.ops.blocks import cut_mask
from longarena.shapes import Heads, Mask

# how many places a tile has, and a part, or else one head
PLACES_OF_TILE = 1 << 14
PLACES_OF_PART = 1 << 15

# the blocks of every query, each of them once; a number past the last block stands for none
Chosen = Int[Tensor, "batch heads length slots"]
Rows = Float[Tensor, "rows length size"]
# the queries of a part, and after those of each head one more, which stands at empty places
QueryRows = Float[Tensor, "queries size"]
# the blocks of a part, the keys of each in one row
KeyRows = Float[Tensor, "blocks keys_times_size"]
Chunks = Float[Tensor, "chunks chunk size"]
KeyBlocks = Float[Tensor, "chunks block size"]
Slots = Float[Tensor, "queries slots"]


@dataclass(frozen=True)
class Arrangement:
    """Where the queries stand; a row is a head of a sequence, and its numbers count from 0.

    `query` holds the query at every place, or `length` at an empty one; the last place is always
    empty. `place` holds the place of every choice, or the last place for none. `block` holds the
    block of every chunk, and `real` tells which keys of a block exist.
    """

    query: Int[Tensor, "rows places"]
    place: Int[Tensor, "rows length slots"]
    block: Int[Tensor, "rows chunks"]
    real: Bool[Tensor, "rows blocks block"]
    num_heads: int
    causal: bool

    def parts(self) -> "Iterator[Part]":
        """Divide the sequences, or the heads of each."""
        heads, batch = self.num_heads, len(self.query) // self.num_heads
        rows = max(1, PLACES_OF_PART // self.query.shape[1])
        num_heads, num_sequences = min(rows, heads), max(1, rows // heads)
        for sequence in range(0, batch, num_sequences):
            for head in range(0, heads, num_heads):
                ends = min(batch, sequence + num_sequences), min(heads, head + num_heads)
                some = slice(sequence * heads + head, (ends[0] - 1) * heads + ends[1])
                yield Part(self, (slice(sequence, ends[0]), slice(head, ends[1])), some)


def arrange(chosen: Chosen, mask: Mask, block: int, causal: bool = False) -> Arrangement:
    """Sort the choices by block; every block begins a new chunk."""
    batch, heads, length, slots = chosen.shape
    real = cut_mask(mask, block).view(batch, -1, block).repeat_interleave(heads, dim=0)
    rows, num_blocks, _ = real.shape
    # a quarter of the queries that choose a block on average: fewer are slow, more leave gaps
    chunk = max(1, block * slots // 4)
    num_chunks = (length * slots + num_blocks * (chunk - 1)) // chunk + 1
    nowhere = num_chunks * chunk - 1

    def numbers(count: int) -> Int[Tensor, "rows count"]:
        return torch.arange(count, device=chosen.device).expand(rows, count).contiguous()

    in_order, order = chosen.reshape(rows, -1).sort(dim=-1, stable=True)
    is_none = in_order == num_blocks
    first = torch.searchsorted(in_order, numbers(num_blocks + 1))
    end = ((first.diff(dim=-1) + chunk - 1) // chunk).cumsum(dim=-1)
    moved = F.pad(end * chunk, (1, 0)) - first
    place = (numbers(length * slots) + moved.gather(-1, in_order)).masked_fill(is_none, nowhere)
    query = torch.full((rows, num_chunks * chunk), length, device=chosen.device)
    query.scatter_(-1, place, (order // slots).masked_fill(is_none, length))
    places = torch.empty_like(order).scatter_(-1, order, place).view(rows, length, slots)
    blocks = torch.searchsorted(end, numbers(num_chunks), right=True).clamp_max(num_blocks - 1)
    return Arrangement(query, places, blocks, real, heads, causal)


class Part:
    """Some heads of some sequences."""

    def __init__(self, arrangement: Arrangement, at: tuple[slice, slice], some: slice) -> None:
        self.at, self.causal = at, arrangement.causal
        self.position, self.block_number = arrangement.query[some], arrangement.block[some]
        place, real = arrangement.place[some], arrangement.real[some]
        num_places = self.position.shape[1]
        self.num_rows, self.length, self.slots = place.shape
        self.num_blocks, self.block = real.shape[1:]
        self.chunk = num_places // self.block_number.shape[1]
        # from numbers in a row to numbers in all rows
        row = torch.arange(self.num_rows, device=place.device)[:, None]
        self.query = (row * (self.length + 1) + self.position).flatten()
        self.place = (row * num_places + place.flatten(1)).view(-1, self.slots)
        self.number = (row * self.num_blocks + self.block_number).flatten()
        self.is_none = (place == num_places - 1).flatten(0, 1)
        self.real = real.flatten(0, 1)

    def tiles(self) -> "Iterator[Tile]":
        """Divide the chunks."""
        step = max(1, PLACES_OF_TILE // self.chunk)
        for first in range(0, len(self.number), step):
            yield Tile(self, slice(first, min(first + step, len(self.number))))

    def queries(self, t: Heads, empty: float = 0.0) -> QueryRows:
        """Take the queries of this part, and what stands at empty places."""
        return F.pad(t[self.at].flatten(0, 1), (0, 0, 0, 1), value=empty).flatten(0, 1)

    def keys(self, t: Heads) -> KeyRows:
        """Take the keys of this part; zeros fill the last block."""
        extra = self.num_blocks * self.block - self.length
        rows = F.pad(t[self.at].flatten(0, 1), (0, 0, 0, extra))
        return rows.reshape(-1, self.block * t.shape[-1])

    def room(self, t: Heads) -> Chunks:
        """Make room for one vector at every place."""
        return t.new_empty(len(self.number), self.chunk, t.shape[-1])

    def slots_of(self, t: Chunks, none: float) -> Slots:
        """Collect for every query the numbers at its places, and `none` where it has no block."""
        found = t.flatten().index_select(0, self.place.flatten()).view(self.place.shape)
        return found.masked_fill_(self.is_none, none)

    def collected(self, t: Chunks, weights: Slots) -> Float[Tensor, "queries size"]:
        """Add up for every query the vectors at its places, times its weights for them."""
        rows = t.view(-1, t.shape[-1])
        return F.embedding_bag(self.place, rows, per_sample_weights=weights, mode="sum")

    def put(self, rows: Float[Tensor, "queries size"], t: Heads) -> None:
        """Write one vector for every query."""
        t[self.at] = rows.view(t[self.at].shape)

    def put_keys(self, rows: KeyRows, t: Heads) -> None:
        """Write one vector for every key."""
        t[self.at] = rows.view(*t[self.at].shape[:2], -1, t.shape[-1])[:, :, : self.length]


class Tile:
    """Some chunks of a part."""

    def __init__(self, part: Part, at: slice) -> None:
        self.part, self.at = part, at
        self.query = part.query[at.start * part.chunk : at.stop * part.chunk]
        self.number = part.number[at]

    def chunks(self, rows: QueryRows) -> Chunks:
        """Put queries into these chunks."""
        return rows.index_select(0, self.query).view(-1, self.part.chunk, rows.shape[1])

    def blocks(self, rows: KeyRows) -> KeyBlocks:
        """Give every chunk the keys of its block."""
        return rows.index_select(0, self.number).view(len(self.number), self.part.block, -1)

    def add(self, t: KeyBlocks, rows: KeyRows) -> None:
        """Add to every block what its chunks say."""
        rows.index_add_(0, self.number, t.flatten(1))

    @cached_property
    def hidden(self) -> Bool[Tensor, "chunks #chunk block"]:
        """Tell which keys do not exist or, when causal, come after the query."""
        part, device = self.part, self.number.device
        hidden = ~part.real.index_select(0, self.number)[:, None]
        if not part.causal:
            return hidden
        first = part.block_number.flatten()[self.at, None, None] * part.block
        position = part.position.view(-1, part.chunk, 1)[self.at]
        return hidden | (first + torch.arange(part.block, device=device) > position)

"""The slots of a Compressive Transformer, made while tokens come one by one.

    Groups     every `rate` states become one slot (mean, max, conv). A slot is made when its group
               is complete, and seen when the group has left the memory.
    MostUsed   a segment that leaves the memory gives its most used states. How much each is used is
               added up while the last queries that see the segment come.

A slot is kept as a key and a value, for nothing else is asked of it.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from longarena.attention.ops.cache import Cache
from longarena.attention.ops.compression import Leaving, most_used
from longarena.attention.ops.decoder import Carrier
from longarena.attention.ops.key_values import Rows
from longarena.shapes import Heads, Tokens

Row = Float[Tensor, "batch heads key_and_value"]


@dataclass(frozen=True)
class SlotSizes:
    """Segments, the memory of each, and how many slots of `rate` states a segment sees."""

    segment: int
    memory: int
    compressed: int
    rate: int

    def start(self, position: int) -> int:
        """Return where the segment of a position begins."""
        return position // self.segment * self.segment


@dataclass(frozen=True)
class Arrived:
    """Tokens and their queries; keys and values of the memory of the last one, up to itself."""

    x: Tokens
    q: Heads
    rows: Rows


class Slots(Carrier, ABC):
    """Makes slots of what has arrived, and knows which of them a token sees."""

    @abstractmethod
    def seen(self, position: int) -> Rows:
        """Return the slots that the next token, at `position`, sees, the oldest first."""

    @abstractmethod
    def remember(self, prompt: Arrived) -> None:
        """Take note of the first tokens of every row; `rows` holds all of them."""

    @abstractmethod
    def note(self, token: Arrived, position: int) -> None:
        """Take note of the token at `position`."""


class Groups(Slots):
    """Compress every group of neighbours."""

    def __init__(
        self,
        sizes: SlotSizes,
        state: Float[Tensor, "batch width"],
        row: Row,
        compress: Callable[[Tensor], Tensor],
    ) -> None:
        self.sizes, self.compress = sizes, compress
        self.group = Cache(state, limit=sizes.rate)
        unseen = (sizes.memory + sizes.segment) // sizes.rate
        self.slots = Cache(row, sizes.compressed + unseen, lambda length: length // sizes.rate)

    def seen(self, position: int) -> Rows:
        sizes, rows = self.sizes, self.slots.rows
        num_left = max(0, sizes.start(position) - sizes.memory) // sizes.rate
        last = rows.shape[2] - (position // sizes.rate - num_left)
        return rows[:, :, max(0, last - sizes.compressed) : last]

    def remember(self, prompt: Arrived) -> None:
        self.group.extend(prompt.x)
        whole = prompt.x.shape[1] // self.sizes.rate * self.sizes.rate
        if whole:
            self.slots.extend(self.compress(prompt.x[:, :whole]))

    def note(self, token: Arrived, position: int) -> None:
        group = self.group.extend(token.x)
        if (position + 1) % self.sizes.rate == 0:
            self.slots.extend(self.compress(group))


class MostUsed(Slots):
    """Keep the most used states of every segment that leaves the memory."""

    def __init__(self, sizes: SlotSizes, row: Row) -> None:
        self.sizes = sizes
        self.leaving = Leaving(sizes.segment, sizes.memory // sizes.segment)
        self.slots = Cache(row, sizes.compressed, self._num_made)
        # of the segment that is leaving, so far
        self.usage = row.new_zeros(len(row), sizes.segment)

    def seen(self, position: int) -> Rows:
        return self.slots.rows

    def remember(self, prompt: Arrived) -> None:
        length, segment = prompt.x.shape[1], self.sizes.segment
        mask = torch.ones(prompt.x.shape[:2], dtype=torch.bool, device=prompt.x.device)
        usage = self.leaving.usage(prompt.q, prompt.rows.chunk(2, dim=-1)[0], mask)
        kept = most_used(usage, mask, self.sizes.rate)[:, : self._num_made(length)]
        self.slots.extend(_take(prompt.rows, kept))
        is_counting = length % segment and length > self.sizes.memory
        if is_counting:
            self.usage = usage[:, length // segment - self.leaving.delay]

    def note(self, token: Arrived, position: int) -> None:
        sizes = self.sizes
        if sizes.start(position) < sizes.memory:
            return  # nothing leaves yet
        oldest = token.rows[:, :, : sizes.segment]
        logits = token.q @ oldest.chunk(2, dim=-1)[0].mT / math.sqrt(token.q.shape[-1])
        self.usage = self.usage + logits.softmax(dim=-1).sum(dim=(1, 2))
        if (position + 1) % sizes.segment == 0:
            best = self.usage.topk(sizes.segment // sizes.rate).indices.sort().values
            self.slots.extend(_take(oldest, best))
            self.usage = torch.zeros_like(self.usage)

    def _num_made(self, length: int) -> int:
        """Count the slots that so many tokens have made."""
        num_left = max(0, length // self.sizes.segment - self.leaving.delay)
        return num_left * self.sizes.segment // self.sizes.rate


def _take(
    rows: Rows, places: Int[Tensor, "batch slots"]
) -> Float[Tensor, "batch heads slots key_and_value"]:
    """Take some rows, the same of every head."""
    _, heads, _, size = rows.shape
    return rows.gather(2, places[:, None, :, None].expand(-1, heads, -1, size))

"""The keys and values that generation keeps, and which of them the newest token sees.

A mechanism with a fixed pattern says by a `Sight` what some of its heads must keep, and what of
that they see at a position:

    blocks back   the block of the token up to itself, and what lies before the block
    steps back    the token itself, and those that are a multiple of some step before it

Keys and values lie side by side, so that one copy keeps a token, and one view shows both.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from jaxtyping import Float
from torch import Tensor

from longarena.attention.ops.cache import Cache, one_each

# a key and its value for every row
Rows: TypeAlias = Float[Tensor, "batch heads rows key_and_value"]
# the rows that are kept, the newest last, and its position -> those that it sees
Show: TypeAlias = Callable[[Tensor, int], Tensor]


def everything(rows: Tensor, position: int) -> Tensor:
    """Show all rows that are kept."""
    return rows


@dataclass(frozen=True)
class Sight:
    """What some heads keep (the last `limit` of the positions that `keeps` names) and see."""

    show: Show = everything
    limit: int | None = None
    keeps: Callable[[int], bool] | None = None
    heads: slice = field(default_factory=lambda: slice(None))

    def rows_of(self, length: int) -> int:
        """Count the positions that are kept among the first ones."""
        return one_each(length) if self.keeps is None else sum(map(self.keeps, range(length)))


def blocks_back(block: int, before: int, heads: slice = slice(None)) -> Sight:
    """See the own block up to oneself, and `before` positions before the block.

    >>> import torch
    >>> rows = torch.arange(6.0).view(1, 1, 6, 1)
    >>> blocks_back(block=4, before=1).show(rows, 5).flatten().tolist()
    [3.0, 4.0, 5.0]
    """

    def show(rows: Tensor, position: int) -> Tensor:
        return rows[:, :, -(before + position % block + 1) :]

    return Sight(show, limit=before + block, heads=heads)


def steps_back(step: int, reach: int | None = None, heads: slice = slice(None)) -> Sight:
    """See oneself and every `step`-th position before, `reach` of them or all.

    >>> import torch
    >>> rows = torch.arange(6.0).view(1, 1, 6, 1)
    >>> steps_back(2).show(rows, 5).flatten().tolist()
    [1.0, 3.0, 5.0]
    """

    def show(rows: Tensor, position: int) -> Tensor:
        return rows[:, :, (rows.shape[2] - 1) % step :: step]

    return Sight(show, limit=None if reach is None else reach * step + 1, heads=heads)


class KeyValues(Cache):
    """The keys and values that a sight asks for."""

    def __init__(self, row: Float[Tensor, "batch heads key_and_value"], sight: Sight) -> None:
        super().__init__(row[:, sight.heads], sight.limit, sight.rows_of)
        self.sight = sight

    def keep(self, rows: Rows, first: int) -> None:
        """Keep what the sight asks for of the rows of all heads, which stand from `first` on."""
        keeps, rows = self.sight.keeps, rows[:, self.sight.heads]
        if keeps is not None:
            rows = rows[:, :, [i for i in range(rows.shape[2]) if keeps(first + i)]]
        self.extend(rows)

    def seen(self, position: int) -> Rows:
        """Return what the newest token, which stands at `position`, sees."""
        return self.sight.show(self.rows, position)

"""A cache: the rows that generation keeps, all of them or the last few, oldest first.

Rows are written into a buffer that is larger than needed, and what is kept is a view of it, so that
one more row costs the same however many there are. A full buffer is copied once: to one of twice
the size, or, where only the last rows are kept, back to its own beginning.
"""

from collections.abc import Callable
from copy import copy

from torch import Tensor

SMALLEST = 16


def one_each(length: int) -> int:
    """Count the rows that so many tokens add, if each adds one."""
    return length


class Cache:
    """Rows (..., channels) in a row of time: (..., rows, channels).

    >>> import torch
    >>> cache = Cache(torch.zeros(1, 2), limit=2)
    >>> for number in (1.0, 2.0, 3.0):
    ...     kept = cache.append(torch.full((1, 2), number))
    >>> kept[0, :, 0].tolist(), cache.num_bytes
    ([2.0, 3.0], 16)
    """

    def __init__(
        self,
        row: Tensor,
        limit: int | None = None,
        rows_of: Callable[[int], int] = one_each,
    ) -> None:
        """Take shape, type and device from an example; with a `limit` keep only the last rows.

        `rows_of` counts the rows that a number of tokens adds, where that is not one for each.
        """
        self.limit = limit
        self._rows_of = rows_of
        self._bytes_per_row = row.numel() * row.element_size()
        capacity = SMALLEST if limit is None else 2 * limit
        self._buffer = row.new_empty(*row.shape[:-1], capacity, row.shape[-1])
        self._start = self._end = 0

    def __len__(self) -> int:
        return self._end - self._start

    @property
    def rows(self) -> Tensor:
        """All rows that are kept."""
        return self._buffer[..., self._start : self._end, :]

    @property
    def num_bytes(self) -> int:
        """The size of the rows that are kept; what the buffer has to spare does not count."""
        return self.rows.numel() * self._buffer.element_size()

    def bytes_after(self, length: int) -> int:
        """Return the size of the rows that would be kept after so many tokens."""
        added = self._rows_of(length)
        return self._bytes_per_row * (added if self.limit is None else min(added, self.limit))

    def append(self, row: Tensor) -> Tensor:
        """Add one row (..., channels); return all that are kept."""
        return self.extend(row[..., None, :])

    def extend(self, rows: Tensor) -> Tensor:
        """Add rows (..., rows, channels); return all that are kept."""
        if self.limit is not None:
            rows = rows[..., max(0, rows.shape[-2] - self.limit) :, :]
        added = rows.shape[-2]
        if self.limit is not None:
            self._start = max(self._start, self._end + added - self.limit)
        if self._end + added > self._buffer.shape[-2]:
            self._make_room(added)
        self._buffer[..., self._end : self._end + added, :] = rows
        self._end += added
        return self.rows

    def fork(self) -> "Cache":
        """Return a copy that goes its own way."""
        other = copy(self)
        other._buffer = self._buffer.clone()
        return other

    def clear(self) -> None:
        """Forget all rows."""
        self._start = self._end = 0

    def choose(self, batch_rows: Tensor) -> None:
        """Keep these entries of the first axis, in this order; an entry may come twice."""
        self._buffer = self._buffer.index_select(0, batch_rows)

    def _make_room(self, added: int) -> None:
        kept, needed = self.rows, len(self) + added
        capacity = self._buffer.shape[-2]
        if self.limit is None:
            capacity = max(2 * capacity, needed)
        shape = (*kept.shape[:-2], capacity, kept.shape[-1])
        buffer = kept.new_empty(shape)
        buffer[..., : len(self), :] = kept
        self._buffer, self._start, self._end = buffer, 0, len(self)

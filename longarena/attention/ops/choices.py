"""Discrete choices are made once, even if a forward pass is computed twice.

A reversible layer recomputes its activations from its outputs, and they differ by rounding. A
bucket chosen from them by argmax may then be a different one, and the gradient would belong to a
different function. So a mixer makes such choices through `Mixer.choose`: a caller that computes the
pass twice records them the first time and replays them the second time.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from torch import Tensor


class Choices:
    """The choices of one forward pass, in the order in which they were made."""

    def __init__(self) -> None:
        self.made: list[Tensor] = []
        self.again: Iterator[Tensor] | None = None

    def take(self, make: Callable[[], Tensor]) -> Tensor:
        """Make a choice and keep it, or return the one that was kept."""
        if self.again is not None:
            return next(self.again)
        self.made.append(make())
        return self.made[-1]

    @contextmanager
    def replayed(self) -> "Iterator[Choices]":
        """Replay the choices inside the block, from the first on."""
        self.again = iter(self.made)
        yield self
        self.again = None

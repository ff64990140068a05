"""Discrete choices are made once, even where a forward pass is computed twice.

A reversible layer computes its activations again from its outputs, equal but for rounding. A
bucket chosen from them by argmax may then be another one, and the gradient would be that of
another function. So a mixer makes such choices by `Mixer.choose`, which whoever computes twice can
record the first time and replay the second.
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
        """Make a choice and keep it, or give the one that was made."""
        if self.again is not None:
            return next(self.again)
        self.made.append(make())
        return self.made[-1]

    @contextmanager
    def replayed(self) -> "Iterator[Choices]":
        """Give the choices again, from the first on."""
        self.again = iter(self.made)
        yield self
        self.again = None

"""A decoder: one mixer that reads a sequence token by token, and what it carries in between.

    decoder = mixer.start(batch)      for rows that are generated side by side
    y = decoder.step(x)               one more token of every row: (B, D) in and out
    y = decoder.read(x)               several at once, such as a prompt: (B, N, D) in and out

Stepping gives what the causal mixer gives for the whole sequence, up to rounding. What it carries
is in its attributes: tensors whose first axis is the batch, caches, other carriers, and lists of
caches and carriers. So its size, and the choice of rows that a beam search makes, need no code of
their own.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from copy import copy
from typing import TypeAlias, TypeVar

import torch
from jaxtyping import Float
from torch import Tensor

from longarena.attention.ops.cache import Cache
from longarena.shapes import Tokens

Token: TypeAlias = Float[Tensor, "batch width"]
Own = TypeVar("Own", bound="Carrier")


class Carrier:
    """Carries something from token to token, in its attributes."""

    @property
    def num_bytes(self) -> int:
        """The size of what is carried to the next token."""
        sizes = (t.nbytes if isinstance(t, Tensor) else t.num_bytes for t in self._carried())
        return sum(sizes)

    def bytes_after(self, length: int) -> int:
        """Return the size of what would be carried after so many tokens."""
        carried = self._carried()
        return sum(t.nbytes if isinstance(t, Tensor) else t.bytes_after(length) for t in carried)

    def fork(self: Own) -> Own:
        """Return a copy that goes its own way from here."""
        other = copy(self)
        vars(other).update({name: _forked(value) for name, value in vars(self).items()})
        return other

    def choose(self, batch_rows: Tensor) -> None:
        """Go on with these rows of the batch, in this order; a row may come twice."""
        for name, value in vars(self).items():
            if isinstance(value, Tensor):
                setattr(self, name, value.index_select(0, batch_rows))
        for part in self._carried():
            if not isinstance(part, Tensor):
                part.choose(batch_rows)

    def _carried(self) -> Iterator["Tensor | Cache | Carrier"]:
        for value in vars(self).values():
            if isinstance(value, Tensor | Cache | Carrier):
                yield value
            elif isinstance(value, list):
                yield from (part for part in value if isinstance(part, Cache | Carrier))


def _forked(value: object) -> object:
    """Copy what is carried; all else, such as the mixer, is shared."""
    if isinstance(value, Tensor):
        return value.clone()
    if isinstance(value, Cache | Carrier):
        return value.fork()
    return [_forked(part) for part in value] if isinstance(value, list) else value


class Decoder(Carrier, ABC):
    """Mixes one token after the other; every row of the batch is at the same position."""

    @abstractmethod
    def step(self, x: Token) -> Token:
        """Mix one more token of every row."""

    def read(self, x: Tokens) -> Tokens:
        """Mix several more tokens of every row."""
        return torch.stack([self.step(token) for token in x.unbind(1)], dim=1)


class Finished(Decoder):
    """Let another decoder mix, and do what follows for every token by itself."""

    def __init__(self, mixing: Decoder, finish: Callable[[Tensor, Tensor], Tensor]) -> None:
        """`finish` takes what was mixed, and the tokens that it was mixed from."""
        self.mixing = mixing
        self.finish = finish

    def step(self, x: Token) -> Token:
        return self.finish(self.mixing.step(x), x)

    def read(self, x: Tokens) -> Tokens:
        return self.finish(self.mixing.read(x), x)

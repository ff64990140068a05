"""Shuffle the tokens of every example, to see what their order is worth.

    all          all tokens of a sequence in any order
    across-64    its blocks of 64 tokens in any order; inside a block, tokens stay as they are
    within-64    the tokens of each block in any order; the blocks stay where they are

A score that survives `all` was made by counting tokens, one that survives `across-64` by what
stands within 64 tokens of each other.

Choice: the new order follows from the tokens themselves. So an example is shuffled in the same way
        in every epoch and run, in a part of the data as in the whole, and two runs can be compared
        example by example. Sequences of a pair are shuffled each by itself.
Choice: a last block that is not full takes part like the others. Padding is not on disk, so it
        stays at the end.
"""

import re
from dataclasses import dataclass
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from longarena.data.dataset import DiskTokens, Integers, Split
from longarena.errors import UserError
from longarena.seeding import numpy_rng

SEED = 0
FORMS = re.compile(r"(all)|(across|within)-([2-9]|[1-9][0-9]{1,8})")


@dataclass(frozen=True)
class Shuffle:
    """What moves: `all` tokens, or those `within` blocks, or the blocks `across` the sequence."""

    kind: str
    block: int = 0

    @classmethod
    def of(cls, text: str) -> "Shuffle":
        """Read what a recipe says.

        >>> Shuffle.of("within-64")
        Shuffle(kind='within', block=64)
        """
        found = FORMS.fullmatch(text)
        if found is None:
            raise UserError(
                f"{text!r} is no way to shuffle; choose all, across-64 or within-64, where the "
                "number is that of the tokens of a block, from 2 on"
            )
        return cls(found[1] or found[2], int(found[3] or 0))

    def __call__(self, tokens: DiskTokens) -> DiskTokens:
        """Return the tokens in their new order."""
        # two bytes a token, in whatever type they are held
        rng = numpy_rng(SEED, "shuffle", crc32(tokens.astype("<u2").tobytes()))
        return tokens[np.argsort(self._keys(len(tokens), rng), kind="stable")]

    def _keys(self, length: int, rng: np.random.Generator) -> NDArray[np.generic]:
        """Return numbers whose order is the new order of the tokens."""
        if self.kind == "all":
            return rng.random(length)
        blocks = np.arange(length) // self.block
        if self.kind == "within":
            return blocks + rng.random(length)
        return rng.permutation(-(-length // self.block))[blocks]


@dataclass(frozen=True)
class ShuffledSplit(Split):
    """A split whose sequences are shuffled as they are read; tokens and offsets are the split's."""

    ordered: Split
    shuffle: Shuffle

    @classmethod
    def of(cls, split: Split, shuffle: Shuffle) -> "ShuffledSplit":
        """Shuffle the sequences of a split."""
        parts = split.tokens, split.offsets, split.labels, split.num_sequences
        return cls(*parts, split, shuffle)

    @property
    def _sequence_lengths(self) -> Integers:
        return self.ordered._sequence_lengths

    def sequence(self, example: int, which: int = 0) -> DiskTokens:
        """Return the tokens of one sequence in their new order."""
        return self.shuffle(self.ordered.sequence(example, which))

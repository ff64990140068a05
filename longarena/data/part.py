"""A part of a split: some of its examples, each no longer than a limit. Nothing is copied."""

from dataclasses import dataclass

import numpy as np

from longarena.data.dataset import DiskTokens, Integers, Split


@dataclass(frozen=True)
class Part(Split):
    """The examples numbered `examples` of a split, and the first `most` tokens of each sequence.

    Tokens and offsets are those of the whole split.
    """

    examples: Integers
    most: int

    @classmethod
    def of(cls, split: Split, examples: Integers, most: int) -> "Part":
        """Take a part of a split."""
        labels = split.labels[examples]
        return cls(split.tokens, split.offsets, labels, split.num_sequences, examples, most)

    @property
    def _sequence_lengths(self) -> Integers:
        whole = np.diff(self.offsets).reshape(-1, self.num_sequences)
        lengths: Integers = np.minimum(whole[self.examples], self.most)
        return lengths

    def sequence(self, example: int, which: int = 0) -> DiskTokens:
        """Return the tokens of one sequence, up to the limit."""
        return super().sequence(int(self.examples[example]), which)[: self.most]

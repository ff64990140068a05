"""From what was read to tokens: bytes stay bytes or are joined, values become steps of a scale.

    token = round((value - low) / (high - low) * 65,535)      clipped to 0 ... 65,535

`low` and `high` are the least and greatest value of the training examples, but no further than
eight standard deviations from their mean: one wild value would squeeze all others together.
`model.input=value` reads a token as a number from -1 to 1.

Choice: 65,536 steps, the most that two bytes hold. Against eight deviations a step is 1/4096 of a
        deviation, far below what noise in training hides; samples of 16 bits lose nothing that was
        heard. Values that are bytes already keep their 256.
Choice: byte pairs and words are learned from the training examples alone (`data/tokens.py`).
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from longarena.data.dataset import DiskTokens
from longarena.data.tokens import TOKENISER, Tokeniser
from longarena.errors import UserError
from longarena.tasks.own.item import Item, Sequence
from longarena.tasks.own.survey import Survey
from longarena.tasks.raw_input import STEPS, scaled_to_steps

BYTES = 257  # ids of a vocabulary of bytes, with that of padding
WIDEST = 8  # standard deviations


class Encoding(Protocol):
    """Makes the tokens of a sequence; `vocab_size` counts their ids and that of padding."""

    @property
    def vocab_size(self) -> int:
        """The number of ids."""

    @property
    def files(self) -> Mapping[str, bytes]:
        """What is needed to read the tokens again, by the names of files."""

    def encode(self, sequence: Sequence) -> DiskTokens:
        """Turn what was read into tokens."""


@dataclass(frozen=True)
class AsBytes:
    """Bytes are tokens."""

    vocab_size: int = BYTES
    files: Mapping[str, bytes] = field(default_factory=dict)

    def encode(self, sequence: Sequence) -> DiskTokens:
        """Return the bytes themselves."""
        return sequence


@dataclass(frozen=True)
class AsTokens:
    """Bytes that often stand together are one token, or words are."""

    tokeniser: Tokeniser

    @property
    def vocab_size(self) -> int:
        """The number of ids."""
        return self.tokeniser.num_tokens + 1

    @property
    def files(self) -> Mapping[str, bytes]:
        """The tokeniser itself."""
        return {TOKENISER: self.tokeniser.to_json().encode()}

    def encode(self, sequence: Sequence) -> DiskTokens:
        """Cut a text into tokens."""
        return np.array(self.tokeniser.encode(sequence.tobytes().decode()), np.uint16)


@dataclass
class Scale:
    """Values between two limits in equal steps; counts what lay beyond them."""

    low: float
    high: float
    num_values: int = field(default=0, init=False)
    num_clipped: int = field(default=0, init=False)
    vocab_size: int = STEPS + 1
    files: Mapping[str, bytes] = field(default_factory=dict)

    def encode(self, sequence: Sequence) -> DiskTokens:
        """Round values to the steps of the scale."""
        values = sequence.astype(np.float64)
        self.num_values += len(values)
        self.num_clipped += int(((values < self.low) | (values > self.high)).sum())
        return scaled_to_steps(values, self.low, self.high)

    @property
    def clipped(self) -> float:
        """The share of the values that lay beyond the limits."""
        return self.num_clipped / max(1, self.num_values)


def scale_of(found: Survey, name: str) -> AsBytes | Scale:
    """Choose the scale for values by those of the training examples."""
    number, total, squares, least, greatest = found.moments[found.splits == 0].T
    if number.sum() == 0:
        return AsBytes()
    mean = total.sum() / number.sum()
    deviation = np.sqrt(max(0.0, squares.sum() / number.sum() - mean**2))
    low = max(float(least.min()), float(mean - WIDEST * deviation))
    high = min(float(greatest.max()), float(mean + WIDEST * deviation))
    if not low < high:
        raise UserError(f"{name}: all values of the training examples are {low:g}")
    return Scale(low, high)


def tokens_of(
    found: Survey, items: Iterable[Item], learn: Callable[[Iterable[str]], Tokeniser]
) -> AsTokens:
    """Learn tokens from the texts of the training examples."""
    kept = (item for item in items if not item.is_empty)
    texts = (
        sequence.tobytes().decode()
        for item, split in zip(kept, found.splits.tolist(), strict=False)
        if split == 0
        for sequence in item.sequences
    )
    return AsTokens(learn(texts))

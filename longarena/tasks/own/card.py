"""The card of a user's data: what was found in it when it was read."""

from collections.abc import Mapping

import numpy as np

from longarena.data.dataset import Integers
from longarena.options import Options

QUANTILES = {"least": 0.0, "quarter": 0.25, "median": 0.5, "three quarters": 0.75, "most": 1.0}
LISTED = 10  # classes that are named one by one


class DataCard(Options):
    """What is in the data, by split: examples of each class, lengths, copies, and how it is read.

    `splits` says by which rule examples got into their split, `unit` what a token is. Values lay
    between `low` and `high`; a `clipped` share of them lay outside and was moved to the edge.
    """

    classes: tuple[str, ...]
    counts: Mapping[str, tuple[int, ...]]
    lengths: Mapping[str, Mapping[str, int]]
    copies: Mapping[str, int]
    num_empty: int
    splits: str
    unit: str
    vocab_size: int
    has_values: bool = False
    num_sequences: int = 1
    image_shape: tuple[int, int] | None = None
    low: float | None = None
    high: float | None = None
    clipped: float = 0.0

    @property
    def longest(self) -> int:
        """The length of the longest sequence."""
        return max(each["most"] for each in self.lengths.values())

    def facts(self) -> dict[str, str]:
        """Write what is in the data for a person to read."""
        examples = ", ".join(f"{split} {sum(n):,}" for split, n in self.counts.items())
        found = {
            "examples": f"{examples} ({self.splits})",
            "classes": self._balance(),
            f"lengths in {self.unit}": lengths_line(self.lengths),
            "empty": f"{self.num_empty:,} left out" if self.num_empty else "none",
            "in two splits": ", ".join(f"{where} {n:,}" for where, n in self.copies.items()),
        }
        if self.low is not None and self.high is not None:
            found["values"] = (
                f"from {self.low:.6g} to {self.high:.6g} in {self.vocab_size - 1:,} steps, "
                f"{self.clipped:.2%} beyond"
            )
        return found

    def _balance(self) -> str:
        total = sum(sum(each) for each in self.counts.values())
        sums = [sum(each) for each in zip(*self.counts.values(), strict=True)]
        named = [
            f"{name} {count / total:.1%}" for name, count in zip(self.classes, sums, strict=True)
        ]
        rest = f" and {len(named) - LISTED} more" if len(named) > LISTED else ""
        return f"{len(named)}: {', '.join(named[:LISTED])}{rest}"

    def warnings(self) -> list[str]:
        """Say what may make a score worthless, a line each."""
        found = [
            f"{count:,} examples are in {where}: scores will look better than they are"
            for where, count in self.copies.items()
            if count
        ]
        train = self.counts["train"]
        unseen = [name for name, count in zip(self.classes, train, strict=True) if not count]
        if unseen:
            names = ", ".join(unseen[:LISTED])
            found.append(f"{len(unseen):,} classes have no example in train: {names}")
        return found


def lengths_line(lengths: Mapping[str, Mapping[str, int]]) -> str:
    """Write the quantiles of the lengths of each split in one line."""
    parts = (
        f"{split} {' / '.join(f'{length:,}' for length in found.values())}"
        for split, found in lengths.items()
    )
    return f"{'; '.join(parts)} ({', '.join(QUANTILES)})"


def quantiles(lengths: Integers) -> dict[str, int]:
    """Return the lengths below which certain shares of the sequences lie."""
    found = np.quantile(lengths, list(QUANTILES.values()), method="lower")
    return {name: int(length) for name, length in zip(QUANTILES, found, strict=True)}

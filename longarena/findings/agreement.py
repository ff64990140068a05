"""How far two orders of the same mechanisms agree: Spearman's rank correlation.

1 is the same order, -1 the reverse, 0 is no relation. Equal scores share the mean of their ranks.
An order of few mechanisms, or of mechanisms that do nearly equally well, agrees with another by
chance; `by_chance` says how far.
"""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist, correlation
from typing import TypeVar

# two or three are in some order or other
FEWEST = 4
CONFIDENCE = 0.95

Name = TypeVar("Name", bound=Hashable)


@dataclass(frozen=True)
class Agreement:
    """The correlation of two orders, and of how many mechanisms."""

    value: float
    count: int

    @property
    def by_chance(self) -> float:
        """What the correlation of unrelated orders stays below in 95 of 100 cases, either way.

        >>> round(Agreement(0.5, 17).by_chance, 2)
        0.49
        """
        return NormalDist().inv_cdf((1 + CONFIDENCE) / 2) / math.sqrt(self.count - 1)


def agreement(one: Mapping[Name, float], other: Mapping[Name, float]) -> Agreement | None:
    """Compare the orders of those that have both numbers; None where that says nothing.

    >>> agreement({"a": 1, "b": 2, "c": 3, "d": 4}, {"a": 5, "b": 7, "c": 6, "d": 9, "e": 1})
    Agreement(value=0.8, count=4)
    """
    common = [name for name in one if name in other]
    columns = [ranks([numbers[name] for name in common]) for numbers in (one, other)]
    if len(common) < FEWEST or any(len(set(column)) == 1 for column in columns):
        return None
    return Agreement(correlation(*columns), len(common))


def ranks(values: Sequence[float]) -> list[float]:
    """Return the place of every value, from the smallest; equal ones share the mean of theirs.

    >>> ranks([10, 30, 20, 30])
    [1.0, 3.5, 2.0, 3.5]
    """
    return [
        sum(other < value for other in values) + (1 + sum(other == value for other in values)) / 2
        for value in values
    ]

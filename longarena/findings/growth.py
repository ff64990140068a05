"""How costs grow with the length N: the exponent p of the best fit cost = c N^p.

The fit is a straight line through the logarithms. A mechanism whose growth exceeds what its card
claims is flagged: by a count in any case, by a time only where noise does not explain it.

Choice: a mechanism that is not in the table has no claim here, because a class that a record names
        is never imported.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from longarena.attention import CARDS
from longarena.findings.costs import CostTable, StepCost
from longarena.findings.scores import Row
from longarena.findings.timings import uncertainty

# times, unlike counts, depend on noise and caches
TIME_TOLERANCE, COUNT_TOLERANCE = 0.2, 0.1


@dataclass(frozen=True)
class Point:
    """What a step took at one length.

    `error` is the relative standard error of the seconds. Mult-Adds are those of the mixers for a
    whole sequence, where they were counted.
    """

    length: int
    seconds: float
    error: float
    peak_bytes: float
    mult_adds: float | None


@dataclass(frozen=True)
class Growth:
    """The exponents of a mechanism's growth with the length, beside the one that it claims.

    Time and memory are those of the whole step, Mult-Adds those of the mixer alone.
    """

    time: float
    memory: float
    mult_adds: float | None
    claimed: float | None
    time_error: float

    @property
    def is_above_claim(self) -> bool:
        """Whether anything grows faster than the card says; a time by two standard errors."""
        if self.claimed is None:
            return False
        time = self.time - 2 * self.time_error
        counts = [self.memory] if self.mult_adds is None else [self.memory, self.mult_adds]
        return time > self.claimed + TIME_TOLERANCE or counts_exceed(self.claimed, counts)


def fit_growth(points: Sequence[Point], claimed: float | None) -> Growth:
    """Fit the growth through two lengths or more."""
    lengths = [point.length for point in points]
    counts = [point.mult_adds for point in points if point.mult_adds]
    return Growth(
        time=growth(lengths, [point.seconds for point in points]),
        memory=growth(lengths, [point.peak_bytes for point in points]),
        mult_adds=growth(lengths, counts) if len(counts) == len(lengths) else None,
        claimed=claimed,
        time_error=growth_error(lengths, [point.error for point in points]),
    )


def counts_exceed(claimed: float, exponents: Sequence[float]) -> bool:
    """Tell whether the exponent of a cost without noise is above the claim."""
    return max(exponents) > claimed + COUNT_TOLERANCE


def growth(lengths: Sequence[int], costs: Sequence[float]) -> float:
    """Fit the exponent of a cost's growth with the length.

    >>> round(growth([1024, 2048, 4096], [1.0, 4.0, 16.0]), 6)
    2.0
    """
    slope, _ = np.polyfit(np.log(lengths), np.log(costs), deg=1)
    return float(slope)


def growth_error(lengths: Sequence[int], errors: Sequence[float]) -> float:
    """Return the standard error of a fitted exponent from the relative errors of the costs.

    >>> round(growth_error([1000, 2000], [0.1, 0.0]) * float(np.log(2)), 6)
    0.1
    """
    x = np.log(lengths) - np.mean(np.log(lengths))
    return float(np.linalg.norm(x * np.asarray(errors)) / np.sum(x**2))


def growths(table: CostTable) -> dict[Row, Growth]:
    """Fit the growth of every mechanism that was measured at two lengths or more."""
    found: dict[Row, list[Point]] = {row: [] for row in table.rows}
    for (row, length), cost in table.costs.items():
        found[row].append(_point(length, cost))
    return {
        row: fit_growth(points, claim(row.mixer, [point.length for point in points]))
        for row, points in found.items()
        if len(points) > 1
    }


def claim(mixer: str, lengths: Sequence[int]) -> float | None:
    """Fit the exponent that a mechanism's card promises over these lengths.

    A logarithm counts too: N log N is no power of N, and fits a larger one than the first.
    """
    if mixer not in CARDS:
        return None
    card = CARDS[mixer]
    logarithms = np.log(lengths) if "log N" in card.time else np.ones(len(lengths))
    return growth(lengths, list(np.power(lengths, card.exponent) * logarithms))


def _point(length: int, cost: StepCost) -> Point:
    return Point(
        length,
        # seconds as if the machine had reached its best rate at every length
        cost.pace / cost.steps_per_second,
        uncertainty(cost.turns),
        float(cost.peak_bytes),
        length * cost.count.mixer if cost.count else None,
    )

"""By how much scores differ, judged by the answers to the same test examples.

    gap = mean_i (s_i - t_i),  error = deviation_i (s_i - t_i) / sqrt(n),  interval = gap +- c error

c is the quantile of the normal distribution for which all pairs together are right 95 times of 100
(Bonferroni). Two scores whose interval holds zero are tied.

Choice: where the answers of a run are not at hand, the errors of the two scores are added as if
        their answers had nothing to do with each other, which finds more ties.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from longarena.records.choice import Gap

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Scored:
    """The test score of a run; `by_example` has a share of it per example, if that is known."""

    value: float
    error: float
    by_example: NDArray[np.float64] | None = None


def gaps(scored: Sequence[Scored]) -> list[list[Gap]]:
    """Compare every score with every other."""
    pairs = max(1, math.comb(len(scored), 2))
    reach = NormalDist().inv_cdf(1 - (1 - CONFIDENCE) / 2 / pairs)
    return [[_gap(first, second, reach) for second in scored] for first in scored]


def _gap(first: Scored, second: Scored, reach: float) -> Gap:
    value, margin = first.value - second.value, reach * _error(first, second)
    return Gap(value=value, low=value - margin, high=value + margin)


def _error(first: Scored, second: Scored) -> float:
    """Return the standard error of the difference of two scores."""
    if first is second:
        return 0.0
    if first.by_example is None or second.by_example is None:
        return math.hypot(first.error, second.error)
    apart = first.by_example - second.by_example
    return float(apart.std(ddof=1) / math.sqrt(len(apart))) if len(apart) > 1 else 0.0

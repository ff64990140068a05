"""How much repeated timings differ: their spread and the error of their median."""

import math
from collections.abc import Sequence

import numpy as np


def spread(times: Sequence[float]) -> float:
    """Return the interquartile range as a share of the median.

    >>> spread([1.0, 1.0, 1.0, 1.0]), spread([1.0, 2.0, 3.0])
    (0.0, 0.5)
    """
    low, middle, high = np.quantile(times, [0.25, 0.5, 0.75])
    return float((high - low) / middle)


def uncertainty(times: Sequence[float]) -> float:
    """Return the standard error of the median, relative to the median."""
    return 0.93 * spread(times) / math.sqrt(len(times))

"""How much better is one than another, judged by their answers to the same test examples.

A contestant is a recipe with one run per seed; all have answered the same n examples.

    score of a contestant    s_i = (mean over seeds of what example i scored) * n / weight
    difference of two        d = mean_i (s_i - t_i), whose noise is that of the paired differences

A paired bootstrap draws the examples anew, the same ones for all contestants. With several seeds
the noise of a seed is added to each draw. The interval of a difference is d +- c * e, where e is
its standard error and c the value that the largest of all |draw| / e stays below in 95 draws of
100. So if all contestants are equally good, all are called tied 95 times of 100, however many they
are. Two of which neither is better by more than c * e are tied.

Beside it stands McNemar's exact test for two runs whose examples are right or wrong: of those that
only one of them answered, does either have too many for a fair coin?

Choice: scores are divided by the mean weight of an example, as in `tracks/tally.py`: windows of a
        text or rows of questions that count more or less than others are not told apart.
Choice: three seeds of a contestant say too little of their spread, so it has that of the median
        contestant, or its own if that is more: where one learns or fails by luck, those that always
        learn are told apart all the same. The part that the examples explain already is not counted
        twice. It is drawn from Student's t with as many degrees as there are seeds to spare.
Choice: with one seed each, nobody knows the noise of a seed; the interval is that of these very
        runs, not of their mechanisms.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from math import comb

import numpy as np
from numpy.typing import NDArray

from longarena.findings.kept_numbers import kept
from longarena.seeding import numpy_rng
from longarena.tasks.base import default_home

Floats = NDArray[np.float64]

CONFIDENCE = 0.95
RESAMPLES = 4000
# how many counts of examples are held at once
BLOCK = 1 << 22
ROUNDING = 1e-15


@dataclass(frozen=True)
class Contestant:
    """What a recipe scored: a row per seed, a column per test example."""

    name: str
    scores: Floats
    weight: float

    @property
    def value(self) -> float:
        """The mean over examples and seeds."""
        return float(self.by_example.mean())

    @property
    def by_example(self) -> Floats:
        """The mean over seeds, example by example, as shares of the mean weight."""
        scaled: Floats = self.scores.mean(axis=0) * (self.scores.shape[1] / self.weight)
        return scaled

    @property
    def num_seeds(self) -> int:
        """How many runs stand behind it."""
        return len(self.scores)

    @property
    def seed_variance(self) -> tuple[float, int]:
        """The variance of a run's mean that its examples do not explain, and its degrees."""
        seeds, examples = self.scores.shape
        if seeds == 1:
            return 0.0, 0
        scaled = self.scores * (examples / self.weight)
        of_means = float(scaled.mean(axis=1).var(ddof=1))
        rest = scaled - scaled.mean(axis=0) - scaled.mean(axis=1, keepdims=True) + scaled.mean()
        by_examples = float((rest**2).sum()) / ((seeds - 1) * max(1, examples - 1)) / examples
        return of_means - by_examples, seeds - 1


@dataclass(frozen=True)
class Difference:
    """By how much the first is above the second, and between which bounds that may be."""

    value: float
    low: float
    high: float

    @property
    def is_tie(self) -> bool:
        """Whether neither is above the other beyond doubt."""
        return self.low <= 0 <= self.high

    def better_by(self, better: str) -> "Difference":
        """Turn it so that more means that the first is better.

        >>> Difference(-3.0, -5.0, -1.0).better_by("less")
        Difference(value=3.0, low=1.0, high=5.0)
        """
        return self if better == "more" else Difference(-self.value, -self.high, -self.low)


def differences(contestants: Sequence[Contestant], seed: int = 0) -> list[list[Difference]]:
    """Compare every contestant with every other; the intervals hold for all pairs together."""
    by_example = np.stack([each.by_example for each in contestants], axis=1)
    values = by_example.mean(axis=0)
    variances, degrees = _seed_variances(contestants)
    shares = variances / [each.num_seeds for each in contestants]
    errors = _errors(by_example, shares)
    reach = _quantile(by_example, shares, degrees, seed) * errors
    above = values[:, None] - values[None, :]
    return [
        [Difference(float(d), float(d - r), float(d + r)) for d, r in zip(*pair, strict=True)]
        for pair in zip(above, reach, strict=True)
    ]


def behind_best(contestants: Sequence[Contestant], better: str = "more") -> list[Difference]:
    """Say by how much the best is better than each; than itself by nothing."""
    sign = 1 if better == "more" else -1
    best = int(np.argmax([sign * each.value for each in contestants]))
    return [each.better_by(better) for each in differences(contestants)[best]]


def tied_with_best(contestants: Sequence[Contestant], better: str = "more") -> list[bool]:
    """Tell of each contestant whether it is the best or tied with it."""
    return [each.is_tie for each in behind_best(contestants, better)]


def mcnemar(first: Floats, second: Floats) -> float:
    """Return the probability of so uneven a split of what only one of two answered rightly.

    >>> mcnemar(np.array([1.0, 1, 1, 1, 1, 0]), np.array([0.0, 0, 0, 0, 0, 0]))
    0.0625
    """
    only_first, only_second = int((first > second).sum()), int((second > first).sum())
    total, fewer = only_first + only_second, min(only_first, only_second)
    tail = sum(comb(total, k) for k in range(fewer + 1))
    return min(1.0, 2 * tail / (1 << total))


def _seed_variances(contestants: Sequence[Contestant]) -> tuple[Floats, int]:
    """Return what the seeds of each add to its noise, and the degrees of all together."""
    found = [each.seed_variance for each in contestants]
    # the median of a variance is below its mean: Wilson and Hilferty's approximation
    known = [variance / (1 - 2 / (9 * own)) ** 3 for variance, own in found if own]
    typical = max(0.0, float(np.median(known))) if known else 0.0
    variances = np.array([max(typical, variance) for variance, _ in found])
    return variances, sum(own for _, own in found)


def _errors(by_example: Floats, shares: Floats) -> Floats:
    """Return the standard error of every difference, by examples and seeds."""
    examples = len(by_example)
    together = np.cov(by_example, rowvar=False) if examples > 1 else np.zeros((len(shares),) * 2)
    alone = np.diag(together)
    of_pairs = (alone[:, None] + alone[None, :] - 2 * together) / examples
    # what equal answers leave is rounding
    of_pairs[of_pairs < ROUNDING * alone.max()] = 0.0
    errors: Floats = np.sqrt(of_pairs + shares[:, None] + shares[None, :])
    np.fill_diagonal(errors, 0.0)
    return errors


def _example_noise(by_example: Floats, seed: int) -> Floats:
    """Draw the examples anew; return how far the mean of each contestant is off, draw by draw."""
    # equal rows of answers are drawn together: what counts is how many of them come
    rows, counts = np.unique(by_example, axis=0, return_counts=True)
    examples, rng = len(by_example), numpy_rng(seed, "bootstrap")
    step = max(1, BLOCK // len(rows))
    means = [
        rng.multinomial(examples, counts / examples, size=min(step, RESAMPLES - at)) @ rows
        for at in range(0, RESAMPLES, step)
    ]
    noise: Floats = np.concatenate(means) / examples - by_example.mean(axis=0)
    return noise


def _seed_noise(shares: Floats, degrees: int, seed: int) -> Floats:
    """Draw how far the mean of each contestant is off by the luck of its seeds."""
    if degrees == 0:
        return np.zeros(len(shares))
    rng = numpy_rng(seed, "seeds")
    doubt = np.sqrt(degrees / rng.chisquare(degrees, size=(RESAMPLES, 1)))
    noise: Floats = np.sqrt(shares) * rng.standard_normal((RESAMPLES, len(shares))) * doubt
    return noise


def _quantile(by_example: Floats, shares: Floats, degrees: int, seed: int) -> float:
    """Return what the largest difference stays below, in standard errors, 95 times of 100.

    It takes a third of a second for 2,000 examples, so it is kept for the next time.
    """
    asked = hashlib.sha256(f"{np.__version__} {RESAMPLES} {CONFIDENCE} {degrees} {seed}".encode())
    asked.update(f"{by_example.shape}".encode() + by_example.tobytes() + shares.tobytes())

    def compute() -> float:
        noise = _example_noise(by_example, seed) + _seed_noise(shares, degrees, seed)
        return _largest(noise, _errors(by_example, shares))

    return kept(default_home() / "index" / "quantiles.txt", asked.hexdigest(), compute)


def _largest(noise: Floats, errors: Floats) -> float:
    """Return the quantile of the largest difference of each draw."""
    first, second = np.nonzero(np.triu(errors))
    if len(first) == 0:
        return 0.0
    largest = np.zeros(len(noise))
    for i, j in zip(first, second, strict=True):
        np.maximum(largest, np.abs(noise[:, i] - noise[:, j]) / errors[i, j], out=largest)
    return float(np.quantile(largest, CONFIDENCE))

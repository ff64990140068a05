"""Fair timing on a machine that is not quiet: everyone takes turns until the numbers are steady.

A processor that is shared with strangers changes its pace from one second to the next, by a factor
of up to two. A large matrix product, timed right before and right after the steps, feels the same
pace; a step's time is therefore counted in such products, and only the median is turned back into
seconds, at the median pace of all that were timed together.

In every round each participant takes one turn, so that a noisy minute hurts all alike; the order
rotates, so that nobody always follows the same neighbour. What had to wait for a core because
other processes ran does not count, unless there is too little else: it takes once or twice the
time, and the median of a mixture of the two is a matter of luck.

Rounds go on until each median is known well enough: its standard error, 0.93 IQR / sqrt(timings)
for normal noise, is a small share of it, or patience ends.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from longarena.options import Options

TIMINGS_PER_TURN = 2
# on a quiet machine the threads of a step wait for a core for less than this share of its time
CALM_BELOW = 0.03


class Patience(Options):
    """How long to go on: until `min_turns` each count and are steady, or until a cap is met."""

    turn_seconds: float = 0.4
    min_turns: int = 4
    max_turns: int = 25
    max_seconds_each: float = 30.0
    steady_below: float = 0.02
    timeout_seconds: float = 300.0

    @property
    def min_timings(self) -> int:
        """How many timings of a participant count at least."""
        return self.min_turns * TIMINGS_PER_TURN


class Timing(Options):
    """The seconds of a step and of a product beside it, and the share spent waiting for a core."""

    seconds: float
    product_seconds: float
    waited: float = 0.0

    @property
    def products(self) -> float:
        """How many products take as long as the step."""
        return self.seconds / self.product_seconds


def calm(timings: Sequence[Timing], fewest: int) -> list[Timing]:
    """Return the timings that hardly waited, or the `fewest` calmest if those are too few."""
    calmest = sorted(timing.waited for timing in timings)[:fewest]
    bound = max([CALM_BELOW, *calmest])
    return [timing for timing in timings if timing.waited <= bound]


@dataclass
class Participant:
    """Someone who takes turns: `turn` returns some timings, or none to drop out.

    A yardstick takes part in every round but nobody waits for it to become steady.
    """

    turn: Callable[[], Sequence[Timing]]
    is_yardstick: bool = False
    timings: list[Timing] = field(default_factory=list)
    counting: list[Timing] = field(default_factory=list)
    has_left: bool = False

    @property
    def calm_timings(self) -> int:
        """How many timings hardly waited for a core."""
        return sum(timing.waited <= CALM_BELOW for timing in self.timings)

    @property
    def products(self) -> list[float]:
        """The times that count, in products."""
        return [timing.products for timing in self.counting]

    def take(self, fewest: int) -> None:
        """Take one turn, unless it has left; at least the `fewest` calmest timings count."""
        taken = () if self.has_left else self.turn()
        self.has_left = not taken
        self.timings.extend(taken)
        self.counting = calm(self.timings, fewest)


def spread(times: Sequence[float]) -> float:
    """Return the interquartile range as a share of the median.

    >>> spread([1.0, 1.0, 1.0, 1.0]), spread([1.0, 2.0, 3.0])
    (0.0, 0.5)
    """
    low, middle, high = np.quantile(times, [0.25, 0.5, 0.75])
    return float((high - low) / middle)


def uncertainty(times: Sequence[float]) -> float:
    """Return the standard error of the median as a share of it."""
    return 0.93 * spread(times) / math.sqrt(len(times))


def take_turns(
    participants: Sequence[Participant],
    patience: Patience,
    after_round: Callable[[int, float], None] = lambda turns, error: None,
) -> None:
    """Let everyone take turns until all are steady."""
    start = time.monotonic()
    for turns in range(1, patience.max_turns + 1):
        first = turns % len(participants)
        for participant in (*participants[first:], *participants[:first]):
            participant.take(patience.min_timings)
        judged = [p for p in participants if not (p.is_yardstick or p.has_left)]
        error = max((uncertainty(p.products) for p in judged), default=0.0)
        after_round(turns, error)
        too_long = time.monotonic() - start > patience.max_seconds_each * len(judged)
        enough = all(p.calm_timings >= patience.min_timings for p in judged)
        steady = enough and error < patience.steady_below
        if not judged or (turns >= patience.min_turns and (steady or too_long)):
            return

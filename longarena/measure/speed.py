"""Fair timing on a noisy machine: all participants take turns until the numbers are steady.

A processor that is shared with others changes its pace from one second to the next, by a factor of
up to two. A large matrix product, timed right before and right after the steps, runs at the same
pace. A step's time is therefore counted in such products, and only the median is turned back into
seconds, at the median pace of all that were timed together.

In every round each participant takes one turn, so that a noisy minute affects all alike; the order
rotates, so that nobody always follows the same neighbour. Timings that waited for a core because
other processes ran do not count, unless there are too few others: they take up to twice as long,
and the median of a mixture of the two is a matter of luck.

Rounds go on until each median is known well enough, that is, until its standard error (0.93 IQR /
sqrt(timings) for normal noise) is a small share of it, or until a cap is reached.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from longarena.findings.timings import uncertainty
from longarena.options import Options

TIMINGS_PER_TURN = 2
# on a quiet machine the threads of a step wait for a core for less than this share of its time
CALM_BELOW = 0.03


class StoppingRule(Options):
    """When to stop: after `min_turns` turns that count and are steady, or at a cap."""

    turn_seconds: float = 0.4
    min_turns: int = 4
    max_turns: int = 25
    max_seconds_each: float = 30.0
    steady_below: float = 0.02
    timeout_seconds: float = 300.0

    @property
    def min_timings(self) -> int:
        """The least number of timings that count for each participant."""
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
    """One that takes turns: `turn` returns some timings, or none to drop out.

    A yardstick takes part in every round, but need not become steady.
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
        """Take one turn, unless it has dropped out; at least the `fewest` calmest timings count."""
        taken = () if self.has_left else self.turn()
        self.has_left = not taken
        self.timings.extend(taken)
        self.counting = calm(self.timings, fewest)


def take_turns(
    participants: Sequence[Participant],
    rule: StoppingRule,
    after_round: Callable[[int, float], None] = lambda turns, error: None,
) -> None:
    """Let all participants take turns until they are steady."""
    start = time.monotonic()
    for turns in range(1, rule.max_turns + 1):
        first = turns % len(participants)
        for participant in (*participants[first:], *participants[:first]):
            participant.take(rule.min_timings)
        judged = [p for p in participants if not (p.is_yardstick or p.has_left)]
        error = max((uncertainty(p.products) for p in judged), default=0.0)
        after_round(turns, error)
        too_long = time.monotonic() - start > rule.max_seconds_each * len(judged)
        enough = all(p.calm_timings >= rule.min_timings for p in judged)
        steady = enough and error < rule.steady_below
        if not judged or (turns >= rule.min_turns and (steady or too_long)):
            return

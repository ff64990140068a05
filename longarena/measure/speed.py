"""Fair timing on a machine that is not quiet: everyone takes turns until the numbers are steady.

In every round each participant takes one turn of some steps, so that a noisy minute hurts all
alike; the order rotates, so that nobody always follows the same neighbour. A participant's time
is the median of its turns. Rounds go on until each median is known well enough: its standard
error, 0.93 IQR / sqrt(turns) for normal noise, is a small share of it, or patience ends.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from longarena.options import Options


class Patience(Options):
    """How long to go on: at least `min_turns` each, then until steady or until a cap is met."""

    turn_seconds: float = 0.4
    min_turns: int = 5
    max_turns: int = 25
    max_seconds_each: float = 10.0
    steady_below: float = 0.02
    timeout_seconds: float = 300.0


@dataclass
class Participant:
    """Someone who takes turns: `turn` returns the seconds of a step, or None to drop out.

    A yardstick takes part in every round but nobody waits for it to become steady.
    """

    turn: Callable[[], float | None]
    is_yardstick: bool = False
    seconds: list[float] = field(default_factory=list)
    has_left: bool = False

    def take(self) -> None:
        """Take one turn, unless it has left."""
        taken = None if self.has_left else self.turn()
        if taken is None:
            self.has_left = True
        else:
            self.seconds.append(taken)


def spread(seconds: Sequence[float]) -> float:
    """Return the interquartile range as a share of the median.

    >>> spread([1.0, 1.0, 1.0, 1.0]), spread([1.0, 2.0, 3.0])
    (0.0, 0.5)
    """
    low, middle, high = np.quantile(seconds, [0.25, 0.5, 0.75])
    return float((high - low) / middle)


def uncertainty(seconds: Sequence[float]) -> float:
    """Return the standard error of the median as a share of it."""
    return 0.93 * spread(seconds) / math.sqrt(len(seconds))


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
            participant.take()
        judged = [p for p in participants if not (p.is_yardstick or p.has_left)]
        error = max((uncertainty(p.seconds) for p in judged), default=0.0)
        after_round(turns, error)
        too_long = time.monotonic() - start > patience.max_seconds_each * len(judged)
        steady = error < patience.steady_below
        if not judged or (turns >= patience.min_turns and (steady or too_long)):
            return

"""Fair timing on a machine that is not quiet: everyone takes turns until the numbers are steady.

In every round each participant takes one turn of some steps, so that a noisy minute hurts all
alike; the order rotates, so that nobody always follows the same neighbour. A turn that had to
wait for a core because other processes ran does not count, unless there are too few calm ones:
such turns take once or twice the time, and the median of a mixture of the two is a matter of luck.

A participant's time is the median of the turns that count. Rounds go on until each median is
known well enough: its standard error, 0.93 IQR / sqrt(turns) for normal noise, is a small share
of it, or patience ends.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from longarena.options import Options

# on a quiet machine the threads of a step wait for a core for less than this share of its time
CALM_BELOW = 0.03


class Patience(Options):
    """How long to go on: until `min_turns` each count and are steady, or until a cap is met."""

    turn_seconds: float = 0.4
    min_turns: int = 5
    max_turns: int = 25
    max_seconds_each: float = 10.0
    steady_below: float = 0.02
    timeout_seconds: float = 300.0


@dataclass(frozen=True)
class Turn:
    """The seconds of a step, and the share of the time for which it waited for a core."""

    seconds: float
    waited: float = 0.0


def calm_seconds(turns: Sequence[Turn], fewest: int) -> list[float]:
    """Return the times of the calm turns, or of the `fewest` calmest if there are too few.

    >>> turns = [Turn(1.0), Turn(2.0, waited=0.5), Turn(1.1, waited=0.01), Turn(1.5, waited=0.3)]
    >>> calm_seconds(turns, fewest=2), calm_seconds(turns, fewest=3)
    ([1.0, 1.1], [1.0, 1.1, 1.5])
    """
    calmest = sorted(turn.waited for turn in turns)[:fewest]
    bound = max(CALM_BELOW, calmest[-1])
    return [turn.seconds for turn in turns if turn.waited <= bound]


@dataclass
class Participant:
    """Someone who takes turns: `turn` returns how it went, or None to drop out.

    A yardstick takes part in every round but nobody waits for it to become steady.
    """

    turn: Callable[[], Turn | None]
    is_yardstick: bool = False
    turns: list[Turn] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    has_left: bool = False

    @property
    def calm_turns(self) -> int:
        """How many turns hardly waited for a core."""
        return sum(turn.waited <= CALM_BELOW for turn in self.turns)

    def take(self, fewest: int) -> None:
        """Take one turn, unless it has left; at least the `fewest` calmest turns count."""
        taken = None if self.has_left else self.turn()
        if taken is None:
            self.has_left = True
        else:
            self.turns.append(taken)
            self.seconds = calm_seconds(self.turns, fewest)


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
            participant.take(patience.min_turns)
        judged = [p for p in participants if not (p.is_yardstick or p.has_left)]
        error = max((uncertainty(p.seconds) for p in judged), default=0.0)
        after_round(turns, error)
        too_long = time.monotonic() - start > patience.max_seconds_each * len(judged)
        calm = all(p.calm_turns >= patience.min_turns for p in judged)
        steady = calm and error < patience.steady_below
        if not judged or (turns >= patience.min_turns and (steady or too_long)):
            return

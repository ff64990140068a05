"""How many steps fit into the time: a pure function of what each mechanism takes.

    rung 1   every mechanism with each of three rates, to an eighth of the steps
    rung 2   the better half of them, each with its best rate, to a quarter
    rung 3   the better half of those, to half of the steps
    final    the best three, and the yardstick, to the last step and tested once

The number of steps is the greatest multiple of eight that fits, at most that of the preset. Where
it would fall below half of those, mechanisms are left out: slow ones first, and those of
families with many members, so that many kinds take part. A contest of six or fewer has shorter runs
instead, down to 200 steps.

Paper:  successive halving: Jamieson & Talwalkar (2016), https://arxiv.org/abs/1502.07943
Choice: who survives a rung is not known beforehand, so survivors are counted at the mean price of
        all, and no rung takes less than its longest run.
"""

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from longarena.errors import UserError
from longarena.options import Options

RATES = (1 / 3, 1.0, 3.0)
PARTS = 8
# the rungs, in eighths of all steps; a run validates at every eighth
RUNGS = (1, 2, 4, PARTS)
FINALISTS = 3
# with fewer, the first comparison would be one of starting points
FEWEST_STEPS = 200
# of a preset's steps, 1 in so many: with fewer, most mechanisms have hardly begun to learn
SHARE_OF_STEPS = 2
# the yardstick, which all are compared with, is left out only if it takes as long as four others
YARDSTICK_SIZE = 0.25
# so few entrants are rather trained for shorter than made fewer
FEW = 6
# what a process takes before its first step
START_SECONDS = 4.0


class Price(Options):
    """What one mechanism takes, in seconds: a step, a validation, a test."""

    step: float
    validation: float = 0.0
    test: float = 0.0

    def of_trial(self, parts: float, steps: int) -> float:
        """Return the seconds of some eighths of a run in a process of its own."""
        return START_SECONDS + parts / PARTS * steps * self.step + parts * self.validation


@dataclass(frozen=True)
class Contest:
    """Who takes part, what each takes, and how many runs go on at a time."""

    prices: Mapping[str, Price]
    workers: int
    yardstick: str = ""
    families: Mapping[str, str] = field(default_factory=dict)

    def seconds(self, steps: int) -> float:
        """Return how long the whole contest may take."""
        return sum(self.stage_seconds(steps))

    def stage_seconds(self, steps: int) -> list[float]:
        """Return how long each rung may take; the last one is the final with its tests."""
        return list(self._stages(steps))

    def _stages(self, steps: int) -> Iterator[float]:
        every, before = list(self.prices.values()), 0
        for rung, (count, until) in enumerate(zip(self.counts, RUNGS, strict=True)):
            trials = [each.of_trial(until - before, steps) for each in every]
            if until == PARTS:
                trials = [trial + each.test for trial, each in zip(trials, every, strict=True)]
            runs = count * (len(RATES) if rung == 0 else 1)
            yield max(runs * sum(trials) / len(trials) / self.workers, *trials)
            before = until

    @property
    def counts(self) -> list[int]:
        """How many mechanisms are trained to each rung, the yardstick among them."""
        found = [len(self.prices)]
        for rung in range(len(RUNGS) - 1):
            kept = num_kept(rung, found[-1]) + (self.yardstick in self.prices)
            found.append(min(found[-1], kept))
        return found

    @property
    def least_needed(self) -> str:
        """The one to leave out first, by its price times the members of its family."""
        sizes = Counter(self.families.get(name, name) for name in self.prices)

        def weight(name: str) -> float:
            size = (
                sizes[self.families.get(name, name)] if name != self.yardstick else YARDSTICK_SIZE
            )
            return size * self.prices[name].step

        return max(self.prices, key=weight)

    def without(self, name: str) -> "Contest":
        """Return the contest without one mechanism."""
        rest = {other: price for other, price in self.prices.items() if other != name}
        return Contest(rest, self.workers, self.yardstick, self.families)

    def fewest_steps(self, most: int) -> int:
        """Return how many steps this contest must have, if the preset has `most`."""
        fewest = most // SHARE_OF_STEPS if len(self.prices) > FEW else 0
        return min(most, max(FEWEST_STEPS, fewest))


@dataclass(frozen=True)
class Budget:
    """The steps of a full run, who takes part, and how many minutes the others would need."""

    steps: int
    contest: Contest
    left_out: dict[str, int] = field(default_factory=dict)


def rungs_of(steps: int) -> list[int]:
    """Return the steps at which mechanisms are compared.

    >>> rungs_of(800)
    [100, 200, 400, 800]
    """
    return [steps * part // PARTS for part in RUNGS]


def num_kept(rung: int, count: int) -> int:
    """Return how many of some mechanisms go on after a rung: half of them, or the finalists.

    >>> [num_kept(0, 40), num_kept(1, 20), num_kept(2, 10)], num_kept(0, 4), num_kept(0, 2)
    ([20, 10, 3], 3, 2)
    """
    is_last = rung == len(RUNGS) - 2
    return min(count, FINALISTS if is_last else max(FINALISTS, math.ceil(count / 2)))


def affordable(count: int, needed: float, there: float) -> int:
    """Return how many of some mechanisms may go on where all need more seconds than there are.

    >>> affordable(10, 50.0, 60.0), affordable(10, 60.0, 30.0), affordable(10, 60.0, -5.0)
    (10, 5, 2)
    """
    return count if needed <= there else min(count, max(2, math.floor(count * there / needed)))


def steps_within(contest: Contest, seconds: float, most: int) -> int:
    """Return the greatest number of steps, in eighths, that fits; 0 if none does.

    >>> steps_within(Contest({"a": Price(step=0.1), "b": Price(step=0.1)}, 1), 1000, 10**6)
    3808
    """
    eighths = range(1, most // PARTS + 1)
    fitting = bisect_right(eighths, seconds, key=lambda eighth: contest.seconds(eighth * PARTS))
    return fitting * PARTS


def plan_budget(contest: Contest, most: int, minutes: float, seconds: float) -> Budget:
    """Choose the steps for what is left of the minutes; leave out some if it must be."""
    most, left_out = most - most % PARTS, {}
    while (steps := steps_within(contest, seconds, most)) < (least := contest.fewest_steps(most)):
        needed = minutes_needed(contest, least, minutes, seconds)
        if len(contest.prices) <= 2:
            names = " and ".join(contest.prices)
            raise UserError(
                f"--minutes {minutes:g} is too short: even {names} alone need --minutes {needed}"
            )
        name = contest.least_needed
        left_out[name], contest = needed, contest.without(name)
    return Budget(steps, contest, left_out)


def minutes_needed(contest: Contest, steps: int, minutes: float, seconds: float) -> int:
    """Return the whole minutes in which a contest would fit, if `minutes` leave `seconds`."""
    return max(math.floor(minutes) + 1, math.ceil(minutes * contest.seconds(steps) / seconds))

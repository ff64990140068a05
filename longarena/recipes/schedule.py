"""The learning rate of a step: a straight warm-up to the peak, then one of several ways down.

With s = step + 1, w = warm-up steps, and p from 0 at the end of the warm-up to 1 at the last step:

    cosine     peak * min(1, s / w) * (1 + cos(pi p)) / 2
    linear     peak * min(1, s / w) * (1 - p)
    constant   peak * min(1, s / w)
    rsqrt      peak * min(1, s / w) / sqrt(max(s, w))           the official text tasks
    one-cycle  from peak / 25 straight up to peak at w, straight down to peak / 250,000

Choice: steps count from 1, so that the first step has an effect (in the release its rate is 0).
Choice: one-cycle moves the rate only; torch's OneCycleLR also moves Adam's beta_1 by default.
"""

import math
from collections.abc import Callable
from typing import Literal

from longarena.options import Natural, Options

Kind = Literal["cosine", "linear", "constant", "rsqrt", "one-cycle"]
ONE_CYCLE_START, ONE_CYCLE_END = 1 / 25, 1 / 250_000


class Schedule(Options):
    """How the learning rate moves over a run."""

    kind: Kind = "cosine"
    warmup_steps: Natural


def rate(schedule: Schedule, peak: float, step: int, steps: int) -> float:
    """Return the learning rate of a step, counted from 0.

    >>> [round(rate(Schedule(warmup_steps=2), 1.0, step, 6), 3) for step in range(6)]
    [0.5, 1.0, 1.0, 0.854, 0.5, 0.146]
    """
    warmup = schedule.warmup_steps
    rise = min(1.0, (step + 1) / warmup) if warmup else 1.0
    progress = max(0.0, (step - warmup) / max(1, steps - warmup))
    return peak * SHAPES[schedule.kind](rise, progress, max(step + 1, warmup))


def _one_cycle(rise: float, progress: float, _: int) -> float:
    if progress > 0:
        return 1 + progress * (ONE_CYCLE_END - 1)
    return ONE_CYCLE_START + rise * (1 - ONE_CYCLE_START)


# share of the peak, from the rise of the warm-up, the progress after it, and max(s, w)
SHAPES: dict[Kind, Callable[[float, float, int], float]] = {
    "cosine": lambda rise, progress, _: rise * (1 + math.cos(math.pi * progress)) / 2,
    "linear": lambda rise, progress, _: rise * (1 - progress),
    "constant": lambda rise, progress, _: rise,
    "rsqrt": lambda rise, progress, reached: rise / math.sqrt(reached),
    "one-cycle": _one_cycle,
}

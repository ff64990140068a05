"""The learning rate of a step: a straight warm-up, then half a cosine down to nothing.

    lr(t) = peak * min(1, (t + 1) / warmup) * (1 + cos(pi * progress)) / 2

with progress from 0 at the end of the warm-up to 1 at the last step.
"""

import math

from pydantic import Field

from longarena.options import Options


class Schedule(Options):
    """How the learning rate moves over a run."""

    warmup_steps: int = Field(ge=0)


def rate(schedule: Schedule, peak: float, step: int, steps: int) -> float:
    """Return the learning rate of a step, counted from 0.

    >>> [round(rate(Schedule(warmup_steps=2), 1.0, step, 6), 3) for step in range(6)]
    [0.5, 1.0, 1.0, 0.854, 0.5, 0.146]
    """
    if step < schedule.warmup_steps:
        return peak * (step + 1) / schedule.warmup_steps
    progress = (step - schedule.warmup_steps) / max(1, steps - schedule.warmup_steps)
    return peak * (1 + math.cos(math.pi * progress)) / 2

"""A learning curve as a few lines of SVG, small enough for the page of every run.

Steps go to the right, with the seconds of training below them, and the score goes up; the axes end
at round numbers around the curve.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from longarena.progress import duration

WIDTH, HEIGHT = 640, 220
MAX_POINTS = 200
NUM_TICKS = 4


@dataclass(frozen=True)
class Tick:
    """A number at an axis, and its place in pixels from the left or the top."""

    label: str
    at: float


@dataclass(frozen=True)
class Drawing:
    """What the template needs: the corners of the line, ticks, and the height of the level."""

    line: str
    steps: tuple[Tick, ...]
    times: tuple[Tick, ...]
    values: tuple[Tick, ...]
    level: float
    end: tuple[float, float]


def draw_curve(
    steps: Sequence[int], values: Sequence[float], level: float, seconds: Sequence[float] = ()
) -> Drawing | None:
    """Lay out the curve of a run; None for one that was never evaluated."""
    # a record says what it likes, so the lists may differ in length
    points = [(s, y) for s, y in zip(steps, values, strict=False) if math.isfinite(y)]
    if not points:
        return None
    stride = -(-len(points) // MAX_POINTS)
    points = points[::-1][::stride][::-1]  # counted from the end, so that the end is there
    heights = [height for _, height in points]
    low, high, unit = _limits(min(*heights, level), max(*heights, level))
    last = points[-1][0]

    def y(value: float) -> float:
        return round(HEIGHT * (high - value) / (high - low), 1)

    corners = [(round(WIDTH * step / last, 1), y(height)) for step, height in points]
    ticks = [low + unit * i for i in range(round((high - low) / unit) + 1)]
    places = [WIDTH * i / NUM_TICKS for i in range(NUM_TICKS + 1)]
    return Drawing(
        line=" ".join(f"{x},{height}" for x, height in corners),
        steps=tuple(Tick(f"{last * i // NUM_TICKS:,}", at) for i, at in enumerate(places)),
        times=_times([last * at / WIDTH for at in places], steps, seconds),
        values=tuple(Tick(f"{tick:g}", y(tick)) for tick in ticks),
        level=y(level),
        end=corners[-1],
    )


def _times(
    ticks: Sequence[float], steps: Sequence[int], seconds: Sequence[float]
) -> tuple[Tick, ...]:
    """Write how long training took to each of some steps; nothing if that is not known."""
    num = min(len(steps), len(seconds))
    if num == 0 or seconds[num - 1] == 0:
        return ()
    found = np.interp(ticks, [0, *steps[:num]], [0, *seconds[:num]])
    return tuple(
        Tick(duration(time), WIDTH * tick / ticks[-1])
        for tick, time in zip(ticks, found, strict=True)
    )


def _limits(low: float, high: float) -> tuple[float, float, float]:
    """Widen a range to multiples of a round unit, and return the unit too.

    >>> _limits(17.0, 36.4), _limits(1.0, 1.3)
    ((15.0, 40.0, 5.0), (1.0, 1.3, 0.1))
    """
    size = 10.0 ** math.floor(math.log10((high - low) / (NUM_TICKS + 1))) if high > low else 1.0
    unit = next(size * u for u in (1, 2, 5, 10) if (high - low) <= (NUM_TICKS + 1) * size * u)
    bottom, top = math.floor(low / unit) * unit, math.ceil(high / unit) * unit
    return bottom, top if top > bottom else bottom + unit, unit

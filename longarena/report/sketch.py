"""A learning curve as a few lines of SVG, small enough for a page of every run.

Steps go to the right, accuracy up; the axes end where the curve does, at round numbers.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 640, 220
MAX_POINTS = 200
NUM_TICKS = 4


@dataclass(frozen=True)
class Tick:
    """A number at an axis, and how far along it stands, in pixels from the left or the top."""

    label: str
    at: float


@dataclass(frozen=True)
class Drawing:
    """What the template needs: corners of the line, ticks, the height of the majority class."""

    line: str
    steps: tuple[Tick, ...]
    accuracies: tuple[Tick, ...]
    majority: float
    end: tuple[float, float]


def draw_curve(
    steps: Sequence[int], accuracies: Sequence[float], majority: float
) -> Drawing | None:
    """Lay out the curve of a run; None for one that was never evaluated."""
    points = [(s, 100 * a) for s, a in zip(steps, accuracies, strict=True) if math.isfinite(a)]
    if not points:
        return None
    stride = -(-len(points) // MAX_POINTS)
    points = points[::-1][::stride][::-1]  # counted from the end, so that the end is there
    heights = [height for _, height in points]
    low, high, unit = _limits(min(*heights, 100 * majority), max(*heights, 100 * majority))
    last = points[-1][0]

    def y(value: float) -> float:
        return round(HEIGHT * (high - value) / (high - low), 1)

    corners = [(round(WIDTH * step / last, 1), y(height)) for step, height in points]
    levels = [low + unit * i for i in range(round((high - low) / unit) + 1)]
    return Drawing(
        line=" ".join(f"{x},{height}" for x, height in corners),
        steps=tuple(
            Tick(f"{last * i // NUM_TICKS:,}", WIDTH * i / NUM_TICKS) for i in range(NUM_TICKS + 1)
        ),
        accuracies=tuple(Tick(f"{level:g}", y(level)) for level in levels),
        majority=y(100 * majority),
        end=corners[-1],
    )


def _limits(low: float, high: float) -> tuple[float, float, float]:
    """Widen a range to multiples of a round unit, and return the unit too.

    >>> _limits(17.0, 36.4)
    (15, 40, 5)
    """
    unit = next(u for u in (1, 2, 5, 10, 20, 25) if (high - low) / u <= NUM_TICKS + 1)
    bottom, top = math.floor(low / unit) * unit, math.ceil(high / unit) * unit
    return bottom, top if top > bottom else bottom + unit, unit

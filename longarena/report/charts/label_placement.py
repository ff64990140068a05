"""Place names beside their points so that they cover neither each other nor other points.

    column    names at the ends of lines, in one column: as near to the ends as the height of a
              line of text allows (least squares)
    around    names around dots, on any side, and further away where it is crowded: in turn each
              takes the place that covers least, until none moves

The points stay where they are; only the words move. All numbers are pixels from the top left.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

LINE_HEIGHT = 13.0
LETTER_WIDTH = 6.2
ROUNDS = 8
GAPS = (4.0, 12.0, 22.0, 34.0, 48.0, 64.0)
DIRECTIONS = tuple(math.pi * eighth / 8 for eighth in range(-7, 9))
BEAD = 2.0
CROSSED = 10.0  # the cost of a pixel that a leader covers
CROWDED = 3.0  # the cost of a pixel that a name covers; a pixel of distance costs two

Side = Literal["left", "center", "right"]
Boxes = NDArray[np.float64]  # left, top, right, bottom in the last axis


@dataclass(frozen=True)
class Dot:
    """A circle and the name that belongs to it."""

    x: float
    y: float
    radius: float
    name: str


@dataclass(frozen=True)
class Spot:
    """The offset of a name from the middle of its dot, and which end of the name is there."""

    dx: float
    dy: float
    side: Side
    gap: float

    @property
    def is_away(self) -> bool:
        """Whether a reader needs a line from the dot to its name."""
        return self.gap > GAPS[1]

    @property
    def leader_end(self) -> tuple[float, float]:
        """Where such a line ends: at the name's near edge."""
        edge = LINE_HEIGHT / 2 if self.side == "center" else 0.0
        return self.dx - math.copysign(2.0, self.dx), self.dy - math.copysign(edge, self.dy)


def column(heights: Sequence[float], limit: float) -> list[float]:
    """Move names apart that want to stand at some heights, all between 0 and `limit`.

    >>> column([50.0, 50.0, 200.0], limit=300)
    [43.5, 56.5, 200.0]
    """
    if not heights:
        return []
    gap = min(LINE_HEIGHT, limit / max(1, len(heights) - 1))
    order = sorted(range(len(heights)), key=lambda i: heights[i])
    slack = _rising([heights[i] - gap * rank for rank, i in enumerate(order)])
    highest = limit - gap * (len(heights) - 1)
    placed = [0.0] * len(heights)
    for rank, i in enumerate(order):
        placed[i] = min(max(slack[rank], 0.0), highest) + gap * rank
    return placed


def _rising(values: Sequence[float]) -> list[float]:
    """Return the nearest non-decreasing values: neighbours out of order share their mean.

    >>> _rising([1.0, 5.0, 3.0, 9.0])
    [1.0, 4.0, 4.0, 9.0]
    """
    pools: list[tuple[float, int]] = []
    for value in values:
        total, count = value, 1
        while pools and pools[-1][0] / pools[-1][1] >= total / count:
            total, count = total + pools[-1][0], count + pools[-1][1]
            pools.pop()
        pools.append((total, count))
    return [total / count for total, count in pools for _ in range(count)]


def around(
    dots: Sequence[Dot], size: tuple[float, float], line: Sequence[tuple[float, float]] = ()
) -> list[Spot]:
    """Choose a spot for the name of every dot, inside the picture and off the line."""
    choices = [[(dot, spot) for spot in _spots(dot)] for dot in dots]
    boxes = [np.array([name_box(dot, spot) for dot, spot in each]) for each in choices]
    leaders = [np.array([_leader(dot, spot) for dot, spot in each]) for each in choices]
    beads = [_bead(x, y) for x, y in _dense(line)]
    circles = [_square(dot) for dot in dots]
    chosen = [0] * len(dots)
    for _ in range(ROUNDS):
        before = list(chosen)
        for i, spots in enumerate(choices):
            others = [j for j in range(len(dots)) if j != i]
            taken = [*(circles[j] for j in others), *(boxes[j][chosen[j]] for j in others)]
            obstacles = np.array([*taken, *beads]).reshape(-1, 4)
            cost = _own_cost(boxes[i], [spot for _, spot in spots], size)
            cost += CROWDED * covered(boxes[i], obstacles).sum(axis=1)
            crossed = covered(leaders[i].reshape(-1, 4), obstacles).sum(axis=1)
            cost += CROSSED * crossed.reshape(len(spots), -1).sum(axis=1)
            chosen[i] = int(cost.argmin())
        if chosen == before:
            break
    return [each[at][1] for each, at in zip(choices, chosen, strict=True)]


def _leader(dot: Dot, spot: Spot) -> list[tuple[float, float, float, float]]:
    """Return small boxes along the way from the edge of a dot to its name."""
    reach = dot.radius + spot.gap
    shares = [(dot.radius + spot.gap * third / 3) / reach for third in (1, 2, 3)]
    return [_bead(dot.x + share * spot.dx, dot.y + share * spot.dy) for share in shares]


def _bead(x: float, y: float) -> tuple[float, float, float, float]:
    return x - BEAD, y - BEAD, x + BEAD, y + BEAD


def _dense(line: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return points along a line, a bead apart."""
    beads: list[tuple[float, float]] = []
    for (x, y), (to_x, to_y) in pairwise(line):
        count = max(1, int(math.hypot(to_x - x, to_y - y) / (2 * BEAD)))
        beads += [(x + (to_x - x) * i / count, y + (to_y - y) * i / count) for i in range(count)]
    return beads


def _spots(dot: Dot) -> list[Spot]:
    """List the places of a name, the nearest first; right of the dot is the first of all."""
    angles = sorted(DIRECTIONS, key=abs)
    return [_spot(dot.radius + gap, gap, angle) for gap in GAPS for angle in angles]


def _spot(reach: float, gap: float, angle: float) -> Spot:
    dx, dy = reach * math.cos(angle), reach * math.sin(angle)
    # above and below a dot a name is centred and half a line further away
    if abs(math.cos(angle)) < 0.3:
        return Spot(dx, dy + math.copysign(LINE_HEIGHT / 2, dy), "center", gap)
    return Spot(dx, dy, "left" if dx > 0 else "right", gap)


def name_box(dot: Dot, spot: Spot) -> tuple[float, float, float, float]:
    """Return the rectangle that a name covers."""
    width = LETTER_WIDTH * len(dot.name)
    share = {"left": 0.0, "center": 0.5, "right": 1.0}[spot.side]
    left, middle = dot.x + spot.dx - share * width, dot.y + spot.dy
    return left, middle - LINE_HEIGHT / 2, left + width, middle + LINE_HEIGHT / 2


def _square(dot: Dot) -> tuple[float, float, float, float]:
    return dot.x - dot.radius, dot.y - dot.radius, dot.x + dot.radius, dot.y + dot.radius


def _own_cost(boxes: Boxes, spots: Sequence[Spot], size: tuple[float, float]) -> Boxes:
    """Return the cost of a spot by itself: its distance, a little for its side, what is cut off."""
    inside = covered(boxes, np.array([[0.0, 0.0, *size]]))[:, 0]
    area = np.prod(boxes[:, 2:] - boxes[:, :2], axis=1)
    away = np.array([2 * spot.gap + 4 * (spot.side != "left") for spot in spots])
    total: Boxes = away + CROWDED * (area - inside)
    return total


def covered(boxes: Boxes, others: Boxes) -> Boxes:
    """Return the area that every box shares with every other."""
    low = np.maximum(boxes[:, None, :2], others[None, :, :2])
    high = np.minimum(boxes[:, None, 2:], others[None, :, 2:])
    shared: Boxes = np.prod(np.maximum(high - low, 0.0), axis=-1)
    return shared

"""Names beside their points that cover neither each other nor another point.

A name starts at the height of its point, to the right of it. Two names that overlap push each
other apart by half of the overlap each, and a point in the way of a name pushes it by all of it,
until nothing moves. The points stay where they are; only the words move.
"""

from collections.abc import Sequence

Points = Sequence[tuple[float, float]]

LINE_HEIGHT = 13.0
CLEARANCE = 9.0
ROUNDS = 200
TOLERANCE = 0.01


def spread(points: Points, width: float, height: float) -> list[float]:
    """Return the heights of names `width` wide beside points (x, y), in pixels from the top.

    >>> spread([(0.0, 50.0), (0.0, 50.0), (900.0, 50.0)], width=100, height=300)
    [43.5, 56.5, 50.0]
    """
    order = sorted(range(len(points)), key=lambda i: (points[i][1], i))
    heights = [y for _, y in points]
    for _ in range(ROUNDS):
        before = list(heights)
        for at, upper in enumerate(order):
            for lower in order[at + 1 :]:
                if abs(points[upper][0] - points[lower][0]) < width:
                    _part(heights, points, upper, lower)
        heights = [min(max(y, 0.0), height) for y in heights]
        if max(map(abs, map(float.__sub__, heights, before)), default=0.0) < TOLERANCE:
            break
    return heights


def _part(heights: list[float], points: Points, upper: int, lower: int) -> None:
    """Push two names apart, and the left one off the right one's point."""
    overlap = max(0.0, LINE_HEIGHT - (heights[lower] - heights[upper]))
    heights[upper] -= overlap / 2
    heights[lower] += overlap / 2
    if points[upper][0] < points[lower][0]:
        heights[upper] = min(heights[upper], points[lower][1] - CLEARANCE)
    elif points[lower][0] < points[upper][0]:
        heights[lower] = max(heights[lower], points[upper][1] + CLEARANCE)

"""Labels beside their points that do not cover each other.

A label starts at the height of its point. Two that overlap push each other apart by half of the
overlap each, until none does; the chart keeps the points and moves only the words.
"""

from collections.abc import Sequence

LINE_HEIGHT = 13.0
ROUNDS = 300


def spread(points: Sequence[tuple[float, float]], width: float, height: float) -> list[float]:
    """Return the heights of labels `width` wide beside points (x, y), in pixels from the top.

    >>> spread([(0, 50), (0, 50), (900, 50)], width=100, height=300)
    [43.5, 56.5, 50]
    """
    heights = [y for _, y in points]
    order = sorted(range(len(points)), key=lambda i: (heights[i], i))
    near = [
        (i, j)
        for at, i in enumerate(order)
        for j in order[at + 1 :]
        if abs(points[i][0] - points[j][0]) < width
    ]
    for _ in range(ROUNDS):
        overlaps = [(i, j) for i, j in near if heights[j] - heights[i] < LINE_HEIGHT - 0.01]
        if not overlaps:
            break
        for i, j in overlaps:
            push = max(0.0, LINE_HEIGHT - heights[j] + heights[i]) / 2
            heights[i] = max(0.0, heights[i] - push)
            heights[j] = min(height, heights[j] + push)
    return heights

"""The Pareto front: the points that no other point beats, where more of both is better.

A point is beaten by one that has at least as much of both and more of one. Along the front, more of
one quantity is less of the other.
"""

from collections.abc import Sequence


def front(points: Sequence[tuple[float, float]]) -> list[int]:
    """Return the indices of the points that none beats, from the smallest x to the largest.

    >>> front([(1, 9), (2, 8), (2, 5), (3, 8), (4, 1), (3, 0)])
    [0, 3, 4]
    """
    kept: list[int] = []
    for i in sorted(range(len(points)), key=lambda i: points[i], reverse=True):
        is_equal = bool(kept) and points[i] == points[kept[-1]]
        if not kept or points[i][1] > points[kept[-1]][1] or is_equal:
            kept.append(i)
    return kept[::-1]

"""The Pareto front: what no other beats, when more of both is better.

A point is beaten by one that has as much of both and more of one. The front is what remains, in
the order of the first quantity; along it, more of one is less of the other.
"""

from collections.abc import Sequence


def front(points: Sequence[tuple[float, float]]) -> list[int]:
    """Return which points nothing beats, from the smallest x to the largest.

    >>> front([(1, 9), (2, 8), (2, 5), (3, 8), (4, 1), (3, 0)])
    [0, 3, 4]
    """
    kept: list[int] = []
    for i in sorted(range(len(points)), key=lambda i: points[i], reverse=True):
        is_equal = bool(kept) and points[i] == points[kept[-1]]
        if not kept or points[i][1] > points[kept[-1]][1] or is_equal:
            kept.append(i)
    return kept[::-1]

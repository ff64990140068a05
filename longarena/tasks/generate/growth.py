"""Grow paths of paddles that keep their distance, compiled.

A path is a row of short strokes (paddles). Each turns about a pivot a little beyond the last one:

    new pivot = pivot + length + 2 margin along the last paddle
    P(end)    ~ (1 - mask around it) * cos^2(continuity * turn)     for ends on a circle about it

A mask says what is occupied. A paddle is refused if its zone (itself and `margin` around) overlaps
the mask. A paddle joins the mask only when its successor is placed, so neighbours may be close.

Choice: all rules are those of the original, including these: two heads that meet can cross, because
        neither is in the mask yet (a quarter of the hard images of 32 x 32, a twelfth of Path-X);
        the last paddle of the first long path never joins the mask, so a distractor can run over
        it; the room for a first paddle is tested one pixel too low and too far right, and only
        where its zone is full. The label is true nevertheless.
Choice: a free pixel is found by drawing until one is free, with as many draws as there are pixels.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

DEGREES = 360  # the first paddle of a path has any whole angle: kinds 0..359, anchored at the tail
KIND, ROW, COLUMN, CHAIN = range(4)  # a paddle: its kind, its anchor, the path it belongs to
PIVOT_ROW, PIVOT_COLUMN = CHAIN, CHAIN + 1  # the tip of a path: kind, anchor and pivot
TIP = PIVOT_COLUMN + 1
PADDLE_TRIES, DISTRACTOR_TRIES = 3, 5
FULL = 255
TOUCHING, OCCUPIED = 1.8 * FULL, 0.3 * FULL
DEAD_END = 1e-4
LEAST_FREE = 0.01


class Kit(NamedTuple):
    """All that paths are made of, one row per kind of paddle; kinds from 360 on end at `ends`."""

    side: int
    padding: int
    seed_distance: int
    lines: NDArray[np.uint8]  # stamps of 2 reach + 1 pixels a side
    zones: NDArray[np.uint8]
    boxes: NDArray[np.int64]  # first row, last row, first column, last column of a zone
    steps: NDArray[np.int64]  # from the pivot of a paddle to the pivot of the next
    heads: NDArray[np.int64]  # from the tail of a first paddle to its head, and to its pivot
    pivots: NDArray[np.int64]
    ends: NDArray[np.int64]  # from a pivot to the ends of paddles about it
    turns: NDArray[np.float64]  # weight of each end after each kind
    ball: NDArray[np.int64]  # the pixels around an end that should be free


@njit(cache=True, nogil=True)
def below(rng, bound):  # type: ignore[no-untyped-def]
    """Draw one of 0 .. bound - 1; `rng.integers` would take seconds to compile."""
    return int(rng.random() * bound)


@njit(cache=True, nogil=True)
def lay(image, stamp, box, corner, brightness):  # type: ignore[no-untyped-def]
    """Merge the box of a stamp into an image, its corner at a pixel: the brighter value stays."""
    for i in range(box[0], box[1] + 1):
        for j in range(box[2], box[3] + 1):
            y, x = corner[0] + i, corner[1] + j
            image[y, x] = max(image[y, x], stamp[i, j] * brightness)


@njit(cache=True, nogil=True)
def touches(mask, zone, box, row, column):  # type: ignore[no-untyped-def]
    """Say whether a zone overlaps the mask."""
    for i in range(box[0], box[1] + 1):
        for j in range(box[2], box[3] + 1):
            if np.int64(mask[row + i, column + j]) + zone[i, j] >= TOUCHING:
                return True
    return False


@njit(cache=True, nogil=True)
def inside(side, row, column):  # type: ignore[no-untyped-def]
    """Say whether a pixel lies in the image."""
    return 0 <= row < side and 0 <= column < side


@njit(cache=True, nogil=True)
def crowding(mask, ball, row, column):  # type: ignore[no-untyped-def]
    """Return the greatest value of the mask around a place in it."""
    most = mask[row, column]
    for i in range(len(ball)):
        most = max(most, mask[row + ball[i, 0], column + ball[i, 1]])
        if most == FULL:
            break
    return most


@njit(cache=True, nogil=True)
def weigh(kit, mask, kind, pivot, weights):  # type: ignore[no-untyped-def]
    """Weigh every end about a pivot after a paddle of some kind; return the sum."""
    side, ends, ball, turns = kit.side, kit.ends, kit.ball, kit.turns[kind]
    reach = kit.zones.shape[1] // 2
    total = 0.0
    for i in range(len(weights)):
        y, x = pivot[0] + ends[i, 0], pivot[1] + ends[i, 1]
        if turns[i] > 0 and inside(side, y, x):
            weights[i] = turns[i] * (1 - crowding(mask, ball, y + reach, x + reach) / FULL)
        else:
            weights[i] = 0.0
        total += weights[i]
    return total


@njit(cache=True, nogil=True)
def occupy(kit, mask, tip):  # type: ignore[no-untyped-def]
    """Merge the zone of the paddle at the tip of a path into the mask."""
    kind = tip[KIND]
    lay(mask, kit.zones[kind], kit.boxes[kind], (tip[ROW], tip[COLUMN]), 1)


@njit(cache=True, nogil=True)
def choose(rng, weights, total):  # type: ignore[no-untyped-def]
    """Draw an index with probability proportional to its weight."""
    left = rng.random() * total
    last = 0
    for i in range(len(weights)):
        if weights[i] > 0:
            last = i
            left -= weights[i]
            if left < 0:
                break
    return last


@njit(cache=True, nogil=True)
def extend(rng, kit, mask, tip):  # type: ignore[no-untyped-def]
    """Add a paddle to a path, which moves its tip; False if there is no room."""
    weights = np.empty(len(kit.ends))
    step = kit.steps[tip[KIND]]
    pivot = tip[PIVOT_ROW] + step[0], tip[PIVOT_COLUMN] + step[1]
    total = weigh(kit, mask, tip[KIND], pivot, weights)
    if total < DEAD_END:
        return False
    for _ in range(PADDLE_TRIES):
        end = choose(rng, weights, total)
        row, column = pivot[0] + kit.ends[end, 0], pivot[1] + kit.ends[end, 1]
        kind = DEGREES + end
        if not touches(mask, kit.zones[kind], kit.boxes[kind], row, column):
            occupy(kit, mask, tip)
            tip[:] = (kind, row, column, pivot[0], pivot[1])
            return True
    return False


@njit(cache=True, nogil=True)
def is_free(kit, mask, kind, tail, frame):  # type: ignore[no-untyped-def]
    """Say whether the zone of a paddle is free of the mask and of a frame along the border."""
    zone, box = kit.zones[kind], kit.boxes[kind]
    reach = len(zone) // 2
    first, last = frame + reach, kit.side - frame + reach - 1
    for i in range(box[0], box[1] + 1):
        for j in range(box[2], box[3] + 1):
            if zone[i, j] == FULL:
                y, x = tail[0] + i + 1, tail[1] + j + 1
                if min(y, x) < first or max(y, x) > last or mask[y, x] > OCCUPIED:
                    return False
    return True


@njit(cache=True, nogil=True)
def seed(rng, kit, mask, frame, tip):  # type: ignore[no-untyped-def]
    """Start a path at any free pixel inside a frame."""
    kind = below(rng, DEGREES)
    nearest = max(0, frame - kit.zones.shape[1] // 2)
    for _ in range(kit.side * kit.side):
        row = nearest + below(rng, kit.side - 2 * nearest)
        column = nearest + below(rng, kit.side - 2 * nearest)
        if is_free(kit, mask, kind, (row, column), frame):
            return place(kit, kind, row, column, tip)
    return False


@njit(cache=True, nogil=True)
def seed_near(rng, kit, first, tip):  # type: ignore[no-untyped-def]
    """Start a path at the seed distance from the tail of another."""
    kind = below(rng, DEGREES)
    angle = below(rng, DEGREES) * np.pi / 180
    row = round(first[ROW] + kit.seed_distance * np.sin(angle))
    column = round(first[COLUMN] + kit.seed_distance * np.cos(angle))
    return place(kit, kind, row, column, tip)


@njit(cache=True, nogil=True)
def place(kit, kind, row, column, tip):  # type: ignore[no-untyped-def]
    """Make a first paddle the tip of a path, if its head and pivot lie in the image."""
    head_row, head_column = row + kit.heads[kind, 0], column + kit.heads[kind, 1]
    pivot_row, pivot_column = row + kit.pivots[kind, 0], column + kit.pivots[kind, 1]
    tip[:] = (kind, row, column, pivot_row, pivot_column)
    return inside(kit.side, head_row, head_column) and inside(kit.side, pivot_row, pivot_column)


@njit(cache=True, nogil=True)
def seed_anywhere(rng, kit, mask, tip):  # type: ignore[no-untyped-def]
    """Start a distractor path."""
    for _ in range(PADDLE_TRIES):  # noqa: SIM110 (numba has no generator expressions)
        if seed(rng, kit, mask, 1, tip):
            return True
    return False


@njit(cache=True, nogil=True)
def seed_pair(rng, kit, mask, tips):  # type: ignore[no-untyped-def]
    """Start the two long paths, the first near the middle."""
    started = 0
    for _ in range(2 * PADDLE_TRIES):
        if started == 0:
            started = int(seed(rng, kit, mask, 2 * kit.seed_distance, tips[0]))
        elif seed_near(rng, kit, tips[0], tips[1]):
            return True
    return False


@njit(cache=True, nogil=True)
def note(paddles, index, chain, tip):  # type: ignore[no-untyped-def]
    """Write down the paddle at the tip of a path."""
    paddles[index, :CHAIN] = tip[:CHAIN]
    paddles[index, CHAIN] = chain


@njit(cache=True, nogil=True)
def grow_pair(rng, kit, mask, paddles):  # type: ignore[no-untyped-def]
    """Grow the two long paths in turns, into an empty mask; False if one runs into a dead end."""
    first = kit.zones.shape[1] // 2 + kit.padding
    last = first + kit.side - 2 * kit.padding
    mask[:] = FULL
    mask[first:last, first:last] = 0
    tips = np.zeros((2, TIP), np.int64)
    if not seed_pair(rng, kit, mask, tips):
        return False
    for chain in range(2):
        note(paddles, chain, chain, tips[chain])
    for index in range(2, len(paddles)):
        chain = index % 2
        if not extend(rng, kit, mask, tips[chain]):
            return False
        note(paddles, index, chain, tips[chain])
    occupy(kit, mask, tips[1])
    return True


@njit(cache=True, nogil=True)
def grow_distractor(rng, kit, mask, paddles, chain):  # type: ignore[no-untyped-def]
    """Grow a short path anywhere; the mask is as before if that fails."""
    if (mask <= OCCUPIED).sum() < LEAST_FREE * kit.side * kit.side:
        return False
    before = mask.copy()
    tip = np.zeros(TIP, np.int64)
    if not seed_anywhere(rng, kit, mask, tip):
        return False
    note(paddles, 0, chain, tip)
    for index in range(1, len(paddles)):
        if not extend(rng, kit, mask, tip):
            mask[:] = before
            return False
        note(paddles, index, chain, tip)
    occupy(kit, mask, tip)
    return True


@njit(cache=True, nogil=True)
def grow(rng, kit, length, distractor_length, paddles):  # type: ignore[no-untyped-def]
    """Fill `paddles` (kind, row, column, chain) with two long paths and as many short ones as fit.

    Return how many paddles there are; chains 0 and 1 are the long paths, which grow in turns.
    """
    width = kit.side + kit.zones.shape[1] - 1  # so that no zone reaches beyond the mask
    mask = np.empty((width, width), np.uint8)
    count, chain = 2 * length, 2
    while not grow_pair(rng, kit, mask, paddles[:count]):
        pass
    for _ in range((len(paddles) - count) // distractor_length):
        for _ in range(DISTRACTOR_TRIES):
            path = paddles[count : count + distractor_length]
            if grow_distractor(rng, kit, mask, path, chain):
                count += distractor_length
                chain += 1
                break
    return count

"""Draw images of two long dashed paths among short ones, with two discs that mark path ends.

    two long paths of `difficulty` paddles grow from near the middle (see growth.py);
    one disc lies at the start of a path, the other at the end of the same (label 1)
    or of the other path (label 0); short distractor paths fill the rest.

Images of both labels have two long paths and two discs, so only following a path tells them apart.
Image i of a seed is a function of i and the seed alone, so images can be drawn in any order.

Paper:  Linsley et al. (2018), https://arxiv.org/abs/1805.08315; sizes as in Tay et al. (2021)
Choice: the number of distractor paths is `distractor_paddles // (difficulty // 3)`, as in the
        released hard set; what it was in the two easier sets is not documented.
Choice: values are stretched to 0..255 in each image, as in the release; the markers have
        brightness 1, so in the 32 x 32 set some distractors are brighter than the markers.
Choice: 16 x 16 is no size of the papers. Its paths are as thin as those of 32 x 32 and darker than
        its markers, and it has few distractors: so little room leaves none for more.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numba import njit
from numpy.typing import NDArray

from longarena.seeding import numpy_rng
from longarena.tasks.generate import strokes
from longarena.tasks.generate.growth import CHAIN, COLUMN, DEGREES, KIND, ROW, Kit, grow, lay


@dataclass(frozen=True)
class Style:
    """How the images of one size look."""

    side: int
    padding: int
    length: int
    thickness: float
    margins: tuple[int, ...]
    seed_distance: int
    marker_radius: float
    continuity: float
    distractor_paddles: int
    target_brightness: float
    distractor_brightness: float


STYLES = {
    16: Style(16, 1, 2, 0.5, (1,), 3, 1.0, 1.0, 3, 0.5, 0.5),
    32: Style(32, 1, 2, 0.5, (1,), 7, 1.5, 1.0, 20, 1.5, 2.0),
    64: Style(64, 1, 5, 1.0, (1,), 12, 2.5, 1.8, 22, 0.8, 0.8),
    128: Style(128, 1, 5, 1.5, (2, 3), 20, 3.0, 1.8, 35, 0.9, 0.9),
    256: Style(256, 22, 5, 2.0, (3,), 27, 5.0, 1.8, 30, 1.0, 1.0),
}


@dataclass(frozen=True)
class Scene:
    """What an image shows, one row of (row, column) per paddle, and the path each belongs to.

    A paddle points away from its pivot; the next one of its path turns about a pivot ahead of it.
    """

    label: int
    margin: int
    tails: NDArray[np.float64]
    heads: NDArray[np.float64]
    pivots: NDArray[np.int64]
    chains: NDArray[np.int64]  # 0 and 1 are the long paths
    markers: NDArray[np.int64]  # where the two discs are


def image(side: int, difficulty: int, seed: int, index: int) -> tuple[NDArray[np.uint8], int]:
    """Draw image `index` of a seed; return it with its label."""
    style = STYLES[side]
    label, margin, paddles, markers = _lay_out(style, difficulty, seed, index)
    kit, disc = make_kit(style, margin), make_disc(style)
    bright = (style.target_brightness, style.distractor_brightness)
    return paint(kit, paddles, bright, markers, disc), label


def scene(side: int, difficulty: int, seed: int, index: int) -> Scene:
    """Say what image `index` of a seed shows."""
    style = STYLES[side]
    label, margin, paddles, markers = _lay_out(style, difficulty, seed, index)
    kit, kinds, anchors = make_kit(style, margin), paddles[:, KIND], paddles[:, ROW : COLUMN + 1]
    angles = make_angles(style.length + margin)[kinds]
    along = style.length * np.stack([np.sin(angles), np.cos(angles)], axis=1)
    is_first = (kinds < DEGREES)[:, None]  # anchored at its tail, the others at their head
    tails = np.where(is_first, anchors, anchors - along)
    to_pivot = np.concatenate([kit.pivots, -kit.ends])[kinds]
    return Scene(
        label, margin, tails, tails + along, anchors + to_pivot, paddles[:, CHAIN], markers
    )


def _lay_out(
    style: Style, difficulty: int, seed: int, index: int
) -> tuple[int, int, NDArray[np.int64], NDArray[np.int64]]:
    """Draw label, margin, paddles and markers of an image."""
    rng = numpy_rng(seed, "contours", style.side, difficulty, index)
    label, origin = int(rng.integers(2)), int(rng.integers(2))
    margin = style.margins[int(rng.integers(len(style.margins)))]
    distractor_length = difficulty // 3
    most = style.distractor_paddles // distractor_length * distractor_length + 2 * difficulty
    paddles = np.zeros((most, CHAIN + 1), np.int64)
    count = grow(rng, make_kit(style, margin), difficulty, distractor_length, paddles)
    end = 2 * difficulty - 2 + (origin if label else 1 - origin)
    return label, margin, paddles[:count], paddles[[origin, end], ROW : COLUMN + 1]


@njit(cache=True, nogil=True)
def paint(kit, paddles, brightness, markers, disc):  # type: ignore[no-untyped-def]
    """Paint paddles and markers, the brighter over the darker, and stretch to 0..255."""
    reach, disc_reach = kit.lines.shape[1] // 2, len(disc) // 2
    border = max(reach, disc_reach)
    canvas = np.zeros((kit.side + 2 * border, kit.side + 2 * border))
    for kind, row, column, chain in paddles:
        corner = row + border - reach, column + border - reach
        lay(canvas, kit.lines[kind], kit.boxes[kind], corner, brightness[min(chain, 2) // 2])
    whole = (0, len(disc) - 1, 0, len(disc) - 1)
    for row, column in markers:
        lay(canvas, disc, whole, (row + border - disc_reach, column + border - disc_reach), 1.0)
    seen = canvas[border : border + kit.side, border : border + kit.side]
    darkest = seen.min()
    return ((seen - darkest) * (255 / (seen.max() - darkest)) + 0.5).astype(np.uint8)


@lru_cache
def make_disc(style: Style) -> NDArray[np.uint8]:
    """Draw the marker of a style."""
    return strokes.disc(style.marker_radius)


def make_ends(radius: int) -> NDArray[np.int64]:
    """List the pixels on a circle about the origin, one per pixel of arc, none of them twice."""
    angles = np.arange(0, 360, 180 / (radius * np.pi)) * np.pi / 180
    circle = radius * np.stack([np.sin(angles), np.cos(angles)], axis=1)
    return np.unique(np.floor(circle).astype(np.int64), axis=0)


def make_angles(radius: int) -> NDArray[np.float64]:
    """Return the direction of each kind of paddle: whole degrees, then those of the ends."""
    ends = make_ends(radius)
    seeds = np.arange(-180, 180) * np.pi / 180
    return np.concatenate([seeds, np.arctan2(ends[:, 0], ends[:, 1])])


@lru_cache
def make_kit(style: Style, margin: int) -> Kit:
    """Draw every kind of paddle once, and tabulate where it leads."""
    radius = style.length + margin
    angles = make_angles(radius)
    # a first paddle is drawn forwards from its tail, any other backwards from its head
    drawn = angles + np.where(np.arange(len(angles)) < DEGREES, 0, np.pi)
    stamps = [strokes.stroke(a, style.length, style.thickness, margin) for a in drawn]
    heads = _shifts(angles[:DEGREES], style.length)
    return Kit(
        side=style.side,
        padding=style.padding,
        seed_distance=style.seed_distance,
        lines=np.array([line for line, _ in stamps]),
        zones=np.array([zone for _, zone in stamps]),
        boxes=np.array([_box(zone) for _, zone in stamps]),
        steps=_shifts(angles, style.length + 2 * margin),
        heads=heads,
        pivots=heads + _shifts(angles[:DEGREES] + np.pi, radius),
        ends=make_ends(radius),
        turns=_turn_weights(angles, style.continuity),
        ball=strokes.ball(margin),
    )


def _box(stamp: NDArray[np.uint8]) -> list[int]:
    """Return the first and last row and the first and last column that are not dark."""
    rows, columns = np.nonzero(stamp)
    return [rows.min(), rows.max(), columns.min(), columns.max()]


def _shifts(angles: NDArray[np.float64], distance: float) -> NDArray[np.int64]:
    return np.array([strokes.shift(angle, distance) for angle in angles], np.int64)


def _turn_weights(angles: NDArray[np.float64], continuity: float) -> NDArray[np.float64]:
    """Weigh every end after every kind by the turn between them."""
    difference = np.abs(angles[:, None] - angles[None, DEGREES:])
    turn = np.minimum(difference, 2 * np.pi - difference)
    weights: NDArray[np.float64] = np.cos(np.minimum(continuity * turn, np.pi / 2)) ** 2
    # the cosine of a right angle is not quite 0
    return np.where(weights < 1e-12, 0.0, weights)

"""Draw an anti-aliased stroke or disc: a small stamp, anchored in its middle.

    canvas, SCALE times finer -> line of whole pixels -> Lanczos down-sampling -> bytes

A stroke comes with its zone, the same line widened by a disc: other strokes must stay outside it.
Stamps are drawn once per direction and then only copied, so this file need not be fast.

Choice: lines and Lanczos weights follow Pillow (its wide line is a polygon with rounded corners,
        its resize works on bytes, columns first), with which the released images were drawn.
Choice: a disc is drawn on an endless canvas and cut at the border of the image; Pillow changes the
        weights of the outermost pixels instead.
"""

import numpy as np
from numpy.typing import NDArray

SCALE = 2
LOBES = 3
FIXED_POINT = 1 << 22

Reals = NDArray[np.float64]
Stamp = NDArray[np.uint8]
Point = tuple[int, int]  # row, column


def shift(angle: float, distance: float) -> Point:
    """Move from a pixel by a distance; both coordinates are rounded up.

    >>> shift(0.0, 2), shift(np.pi / 4, 2), shift(np.pi, 2)
    ((0, 2), (2, 2), (0, -2))
    """
    # the sine of pi is not quite 0, and rounding it up would give 1
    row, column = np.round(distance * np.array([np.sin(angle), np.cos(angle)]), 9)
    return int(np.ceil(row)), int(np.ceil(column))


def stroke(angle: float, length: int, thickness: float, margin: int) -> tuple[Stamp, Stamp]:
    """Draw a stroke that leaves the middle of the stamp at an angle, and its zone."""
    reach = length + int(np.ceil(thickness)) + margin
    fine = np.zeros((2 * reach * SCALE + 1,) * 2, bool)
    middle = reach * SCALE
    row, column = shift(angle, length * SCALE)
    draw_line(fine, (middle, middle), (middle + row, middle + column), round(thickness * SCALE))
    zone = dilate(fine, margin * SCALE)
    return shrink(fine, 2 * reach + 1), shrink(zone, 2 * reach + 1)


def disc(radius: float) -> Stamp:
    """Draw a filled disc in the middle of a stamp."""
    reach = int(np.ceil(radius)) + LOBES
    rows, columns = np.indices((SCALE * (2 * reach + 1),) * 2) - SCALE * reach
    return shrink(rows**2 + columns**2 <= (radius * SCALE) ** 2, 2 * reach + 1)


def draw_line(canvas: NDArray[np.bool_], start: Point, end: Point, width: int) -> None:
    """Set the pixels of a line of whole pixels, both ends included."""
    if width == 1:
        steps = max(abs(end[0] - start[0]), abs(end[1] - start[1]), 1)
        along = np.arange(steps + 1) / steps
        rows, columns = (
            a + _half_forward((b - a) * along) for a, b in zip(start, end, strict=True)
        )
        canvas[rows, columns] = True
        return
    corners = _corners(start, end, width)
    for row in range(min(y for y, _ in corners), max(y for y, _ in corners) + 1):
        crossings = _crossings(corners, row)
        left, right = np.floor(min(crossings) + 0.5), np.ceil(max(crossings) - 0.5)
        canvas[row, int(left) : int(right) + 1] = True


def _half_forward(distances: Reals) -> NDArray[np.int64]:
    """Round to the nearest pixel, a half to the one that is further."""
    rounded = np.sign(distances) * np.floor(np.abs(distances) + 0.5)
    return rounded.astype(np.int64)


def _corners(start: Point, end: Point, width: int) -> list[Point]:
    """Return the four corners of a wide line, in order around it."""
    (y0, x0), (y1, x1) = start, end
    half = (width - 1) / 2
    sides = np.array([np.ceil(half - 0.5), np.floor(half + 0.5)]) / np.hypot(y1 - y0, x1 - x0)
    across = sides * (y1 - y0)
    near, far = (np.sign(across) * np.ceil(np.abs(across) - 0.5)).astype(int)
    below, above = _half_forward(sides * (x1 - x0))
    return [
        (y0 + int(above), x0 - int(near)),
        (y1 + int(above), x1 - int(near)),
        (y1 - int(below), x1 + int(far)),
        (y0 - int(below), x0 + int(far)),
    ]


def _crossings(corners: list[Point], row: int) -> list[float]:
    """Return where the sides of a polygon meet a row of pixels."""
    found: list[float] = []
    for (y0, x0), (y1, x1) in zip(corners, corners[1:] + corners[:1], strict=True):
        if y0 == y1 == row:
            found += [x0, x1]
        elif min(y0, y1) <= row <= max(y0, y1):
            found.append(x0 + (row - y0) * (x1 - x0) / (y1 - y0))
    return found


def ball(radius: int) -> NDArray[np.int64]:
    """List the pixels of a disc around the origin, as rows of (row, column)."""
    rows, columns = np.mgrid[-radius : radius + 1, -radius : radius + 1]
    return np.argwhere(rows**2 + columns**2 <= radius**2) - radius


def dilate(shape: NDArray[np.bool_], radius: int) -> NDArray[np.bool_]:
    """Widen a shape by a disc."""
    widened = np.zeros((len(shape) + 2 * radius,) * 2, bool)
    disc_pixels = ball(radius) + radius
    for pixel in np.argwhere(shape):
        widened[*(pixel + disc_pixels).T] = True
    return widened[radius:-radius, radius:-radius]


def shrink(shape: NDArray[np.bool_], side: int) -> Stamp:
    """Down-sample a square shape to `side` pixels."""
    weights = lanczos(len(shape), side)
    across = _round(255.0 * shape @ weights.T)
    return _round(weights @ across)


def lanczos(fine: int, coarse: int) -> Reals:
    """Return the weights (coarse, fine) of Lanczos down-sampling; each row sums to about one."""
    scale = fine / coarse
    centres = (np.arange(coarse) + 0.5) * scale
    first = np.maximum((centres - LOBES * scale + 0.5).astype(int), 0)
    stop = np.minimum((centres + LOBES * scale + 0.5).astype(int), fine)
    pixels = np.arange(fine)
    x = (pixels - centres[:, None] + 0.5) / scale
    inside = (pixels >= first[:, None]) & (pixels < stop[:, None]) & (np.abs(x) < LOBES)
    weights = np.where(inside, np.sinc(x) * np.sinc(x / LOBES), 0.0)
    # Pillow's fixed-point weights: they decide which way a half is rounded
    normed: Reals = np.round(weights / weights.sum(axis=1, keepdims=True) * FIXED_POINT)
    return normed / FIXED_POINT


def _round(values: Reals) -> Stamp:
    return np.clip(np.floor(values + 0.5), 0, 255).astype(np.uint8)

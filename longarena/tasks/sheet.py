"""A sheet of sample images with their labels, as one picture.

Each image has its label below it, in digits of 3 x 5 pixels; the card says what a label means.
Small images are enlarged by a whole factor, so that every pixel stays a sharp square.
"""

import numpy as np
from numpy.typing import NDArray

from longarena.data.dataset import Split

GAP = 4
TILE = 128  # images smaller than this are enlarged
PAPER, INK = 64, 255
DIGIT_SCALE = 2
# five rows of three pixels, a bit each
DIGITS = {
    "0": (7, 5, 5, 5, 7),
    "1": (2, 6, 2, 2, 7),
    "2": (7, 1, 7, 4, 7),
    "3": (7, 1, 7, 1, 7),
    "4": (5, 5, 7, 1, 1),
    "5": (7, 4, 7, 1, 7),
    "6": (7, 4, 7, 5, 7),
    "7": (7, 1, 1, 2, 2),
    "8": (7, 5, 7, 5, 7),
    "9": (7, 5, 7, 1, 7),
}

Picture = NDArray[np.uint8]


def sheet(split: Split, count: int, image_shape: tuple[int, int]) -> Picture:
    """Lay out the first `count` images of a split in a square grid, each above its label."""
    number = min(count, len(split))
    tiles = [
        tile(split.sequence(i).reshape(image_shape), int(split.labels[i])) for i in range(number)
    ]
    columns = int(np.ceil(np.sqrt(number)))
    blank = np.full_like(tiles[0], PAPER)
    tiles += [blank] * (-number % columns)
    rows = [np.hstack(tiles[i : i + columns]) for i in range(0, len(tiles), columns)]
    return np.pad(np.vstack(rows), GAP, constant_values=PAPER)


def tile(image: Picture, label: int) -> Picture:
    """Enlarge an image and write its label below."""
    factor = max(1, TILE // max(image.shape))
    large = enlarge(image, factor)
    word = enlarge(write(label), DIGIT_SCALE)
    strip = np.full((len(word) + GAP, large.shape[1]), PAPER, np.uint8)
    strip[GAP:, : word.shape[1]] = word
    return np.pad(np.vstack([large, strip]), GAP, constant_values=PAPER)


def enlarge(image: Picture, factor: int) -> Picture:
    """Repeat every pixel.

    >>> enlarge(np.array([[1, 2]], np.uint8), 2).tolist()
    [[1, 1, 2, 2], [1, 1, 2, 2]]
    """
    return image.repeat(factor, axis=0).repeat(factor, axis=1)


def write(number: int) -> Picture:
    """Draw the digits of a number.

    >>> (write(17) > PAPER).astype(int).tolist()[0]
    [0, 1, 0, 0, 1, 1, 1, 0]
    """
    rows = np.array([DIGITS[digit] for digit in str(number)], np.uint8)  # (digits, 5)
    bits = rows[..., None] >> np.array([2, 1, 0, 0]) & np.array([1, 1, 1, 0])
    pixels = bits.transpose(1, 0, 2).reshape(rows.shape[1], -1)
    return np.where(pixels == 1, INK, PAPER).astype(np.uint8)

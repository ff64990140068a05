"""The memory blocks of the Image Transformer, drawn on the image behind its sequence.

Four of the blocks of queries (dark), spread over the image, and the memory that each of them sees
(light). In 1d a block is a piece of the line of pixels, in 2d a rectangle; the pale chequers are
the other blocks. The blocks are asked of the mixer itself, not drawn by another rule.

Choice: a sequence whose image has no given shape is drawn as the squarest one.
"""

import math
from dataclasses import dataclass

import altair as alt
import numpy as np
from numpy.typing import NDArray

from longarena.attention.image_transformer import OUTSIDE, ImageTransformer
from longarena.options import Value

NUM_DRAWN = 4
PIXELS = 200
KINDS = ("block of queries", "its memory", "other blocks", "every second of them")
COLOURS = ("#1f4e9c", "#8fb8ee", "#e4e4de", "#f6f6f3")
GREYS = np.array([0, 150, 216, 236], dtype=np.uint8)

Grid = NDArray[np.int64]  # the kind of every pixel, an index into KINDS


@dataclass(frozen=True)
class Shape:
    """The size of an image in pixels."""

    height: int
    width: int

    @staticmethod
    def of(mixer: ImageTransformer, length: int) -> "Shape":
        """Return the mixer's own shape, or the squarest one."""
        options = mixer.options
        if options.image_height and options.image_width:
            return Shape(options.image_height, options.image_width)
        return squarest(length)


def squarest(length: int) -> Shape:
    """Return the shape of a length that is nearest to a square.

    >>> squarest(64), squarest(48)
    (Shape(height=8, width=8), Shape(height=6, width=8))
    """
    sides = range(1, math.isqrt(length) + 1)
    height = max(side for side in sides if length % side == 0)
    return Shape(height, length // height)


def image_options(length: int) -> dict[str, Value]:
    """Return options of mode 2d whose blocks are large enough to see: about an eighth of the image.

    >>> image_options(64)["block"], image_options(64)["memory"]
    (2, 4)
    """
    shape = squarest(length)
    columns, rows = max(1, shape.width // 4), max(1, shape.height // 4)
    return {
        **{"image_height": shape.height, "image_width": shape.width},
        **{"block": columns, "memory": 2 * columns},
        **{"block_height": rows, "memory_height": 2 * rows},
    }


def grids(mixer: ImageTransformer, length: int) -> list[Grid]:
    """Return what every pixel is to each of some blocks."""
    tables, shape = mixer.tables(length), Shape.of(mixer, length)
    blocks = list(zip(tables.queries.numpy(), tables.keys.numpy(), strict=True))
    pale = _chequers([queries for queries, _ in blocks], shape)
    drawn = []
    for queries, keys in (blocks[at] for at in _spread(len(blocks))):
        grid = pale.copy()
        grid.flat[keys[keys != OUTSIDE]] = 1
        grid.flat[queries[queries != OUTSIDE]] = 0
        drawn.append(grid)
    return drawn


def _spread(count: int) -> list[int]:
    """Choose some of so many blocks, from the first to the last.

    >>> _spread(16), _spread(2)
    ([0, 5, 10, 15], [0, 1])
    """
    return sorted({round(at * (count - 1) / (NUM_DRAWN - 1)) for at in range(NUM_DRAWN)})


def _chequers(blocks: list[NDArray[np.int64]], shape: Shape) -> Grid:
    """Shade every second block, in rows and in columns."""
    grid = np.empty((shape.height, shape.width), dtype=np.int64)
    num_beside = sum(int(queries[0]) < shape.width for queries in blocks)
    for number, queries in enumerate(blocks):
        grid.flat[queries[queries != OUTSIDE]] = 2 + sum(divmod(number, num_beside)) % 2
    return grid


def chart(mixer: ImageTransformer, length: int) -> alt.HConcatChart:
    """Draw the blocks side by side."""
    shape, mode = Shape.of(mixer, length), mixer.options.mode
    title = f"{mixer.card.title}, {mode}: blocks and their memory, {shape.width} x {shape.height}"
    panels = [_panel(grid) for grid in grids(mixer, length)]
    return alt.hconcat(*panels).properties(title=f"{title} pixels")


def _panel(grid: Grid) -> alt.Chart:
    pixels = [
        {"row": row, "column": column, "kind": KINDS[kind]}
        for (row, column), kind in np.ndenumerate(grid)
    ]
    side = PIXELS / max(grid.shape)
    shades = alt.Scale(domain=KINDS, range=COLOURS)
    legend = alt.Legend(title=None, orient="bottom", values=KINDS[:3], symbolType="square")
    drawing: alt.Chart = (
        alt.Chart(alt.InlineData(values=pixels))
        .mark_rect()
        .encode(
            x=alt.X("column:O", axis=None, scale=alt.Scale(padding=0.06)),
            y=alt.Y("row:O", axis=None, scale=alt.Scale(padding=0.06)),
            color=alt.Color("kind:N", scale=shades, legend=legend),
        )
        .properties(width=side * grid.shape[1], height=side * grid.shape[0])
    )
    return drawing


def tile(mixer: ImageTransformer, length: int, side: int, gap: int) -> NDArray[np.uint8]:
    """Draw the blocks side by side as grey pixels, each at least `side` high, for the gallery."""
    drawn = [GREYS[grid] for grid in grids(mixer, length)]
    scale = max(1, side // drawn[0].shape[0])
    large = [np.kron(grey, np.ones((scale, scale), dtype=np.uint8)) for grey in drawn]
    framed = [np.pad(grey, ((0, 0), (0, gap)), constant_values=255) for grey in large]
    return np.hstack(framed)[:, :-gap]

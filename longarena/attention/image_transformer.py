"""Image Transformer: blocks of queries, each of which attends to a memory block around it.

    y_i = sum_j softmax_j(q_i . k_j / sqrt(d)) v_j      j in the memory block of the block of i

    1d    the image is a line of pixels, row after row: `block` queries in a line see the `memory`
          positions around them, more of them in the rows above and below than beside them
    2d    rectangles of `block` x `block_height` pixels see the `memory` x `memory_height` pixels
          around them: what is near in the image is near here too

All queries of a block see the same keys, so a block is one small dense problem.

Paper:  Parmar et al. (2018), https://arxiv.org/abs/1802.05751
Cost:   time O(N m d), memory O(N d), for a memory of m positions.
Choice: the memory reaches as far forward as backward, since an encoder reads whole images. When
        causal it lies before the block (in 2d: above and beside it), and no query sees a later
        pixel.
Choice: a rectangle is no wider than the image; the part of a memory outside the image has no keys.
"""

from dataclasses import dataclass
from typing import Literal

import torch
from einops import rearrange
from jaxtyping import Int
from pydantic import Field, model_validator
from torch import Tensor

from longarena.attention.base import Attention, Mixer, Place
from longarena.attention.cards import CARDS
from longarena.attention.ops.blocks import Blocks, Pattern, attend, gather, look_up
from longarena.attention.ops.decoder import Decoder
from longarena.attention.ops.key_values import Sight, blocks_back
from longarena.attention.pattern_decoder import PatternDecoder
from longarena.errors import UserError
from longarena.options import Options
from longarena.shapes import Heads, Mask, Tokens, Values

OUTSIDE = -1
ONLY_2D = {"image_height", "image_width", "block_height", "memory_height"}


@dataclass(frozen=True)
class Line:
    """A line cut into blocks, and how far the memory of each reaches to either side."""

    length: int
    block: int
    before: int
    after: int

    @staticmethod
    def of(length: int, block: int, memory: int, causal: bool = False) -> "Line":
        """Lay a memory around each block; neither is longer than the line."""
        extra = memory - block
        before = extra if causal else extra // 2
        others = (-(-length // block) - 1) * block
        after = extra - before
        return Line(length, min(block, length), min(before, others), min(after, others))

    def queries(self) -> Int[Tensor, "pieces queries"]:
        """Return the positions of every block.

        >>> Line.of(length=5, block=2, memory=4).queries().tolist()
        [[0, 1], [2, 3], [4, -1]]
        """
        return self._places(0, self.block)

    def keys(self) -> Int[Tensor, "pieces keys"]:
        """Return the positions of the memory of every block.

        >>> Line.of(length=5, block=2, memory=4).keys().tolist()
        [[-1, 0, 1, 2], [1, 2, 3, 4], [3, 4, -1, -1]]
        """
        return self._places(-self.before, self.block + self.after)

    def seen(self, place: int) -> range:
        """Return the places in the memory of the block that holds this one.

        >>> Line.of(length=5, block=2, memory=4).seen(2)
        range(1, 5)
        """
        start = place // self.block * self.block
        first, last = start - self.before, start + self.block + self.after
        return range(max(0, first), min(last, self.length))

    def _places(self, start: int, stop: int) -> Int[Tensor, "pieces places"]:
        places = torch.arange(0, self.length, self.block)[:, None] + torch.arange(start, stop)
        return places.where((places >= 0) & (places < self.length), OUTSIDE)


@dataclass(frozen=True)
class Tables:
    """The positions of the queries and of the keys of every problem."""

    queries: Int[Tensor, "blocks queries"]
    keys: Int[Tensor, "blocks keys"]

    @staticmethod
    def of_rectangles(rows: Line, columns: Line) -> "Tables":
        """Combine every block of rows with every block of columns."""
        width = columns.length
        return Tables(
            _cross(rows.queries(), columns.queries(), width),
            _cross(rows.keys(), columns.keys(), width),
        )

    def pattern(self, mask: Mask, causal: bool) -> Pattern:
        """Let the queries of every problem see its keys; when causal, only those not later."""
        batch, length = mask.shape
        query_rows, _ = look_up(mask, self.queries[None, :, :, None])
        key_rows, allowed = look_up(mask, self.keys[None, :, :, None])
        if causal:
            earlier = self.keys[:, None, :] <= self.queries[:, :, None]
            allowed = allowed & earlier.repeat(batch, 1, 1)[:, None].to(mask.device)
        slots = _slots(self.queries, length).to(mask.device)
        return Pattern(
            cut=lambda q: gather(q, query_rows),
            sets=lambda k: gather(k, key_rows),
            join=lambda y: _in_order(y, batch, slots),
            allowed=allowed,
        )


def _cross(rows: Tensor, columns: Tensor, width: int) -> Tensor:
    rows, columns = rows[:, None, :, None], columns[None, :, None, :]
    position = rows * width + columns
    position = position.where((rows != OUTSIDE) & (columns != OUTSIDE), OUTSIDE)
    return rearrange(position, "i j r c -> (i j) (r c)")


def _slots(queries: Int[Tensor, "blocks queries"], length: int) -> Int[Tensor, " length"]:
    """Find the slot of the blocks that holds each position of the sequence."""
    flat = queries.flatten()
    # slots outside the sequence all write to one extra position, which is then dropped
    positions = flat.where((flat >= 0) & (flat < length), length)
    slots = torch.empty(length + 1, dtype=torch.long)
    return slots.scatter_(0, positions, torch.arange(len(flat)))[:length]


def _in_order(y: Blocks, batch: int, slots: Int[Tensor, " length"]) -> Heads:
    """Put the answers of all problems back where their queries came from."""
    rows = rearrange(y, "(b n) h s d -> b (n s) h d", b=batch)
    return rows.index_select(1, slots).transpose(1, 2)


def rectangle_back(rows: Line, columns: Line) -> Sight:
    """See the memory of the own rectangle up to oneself; the lines that it touches are kept."""
    width = columns.length

    def show(kept: Tensor, position: int) -> Tensor:
        oldest = position + 1 - kept.shape[2]
        row, column = divmod(position, width)
        top, across = rows.seen(row).start, columns.seen(column)
        lines = torch.arange(top, row + 1)[:, None] * width
        places = (lines + torch.arange(across.start, across.stop) - oldest).flatten()
        later = across.stop - 1 - column  # at the end of the line on which the token stands
        return kept.index_select(2, places[: len(places) - later].to(kept.device))

    return Sight(show, limit=(rows.before + rows.block) * width)


class ImageTransformerOptions(Options):
    """Memory blocks in raster order (1d), or around rectangles of a height x width image (2d)."""

    mode: Literal["1d", "2d"] = "1d"
    block: int = Field(128, gt=0)
    memory: int = Field(256, gt=0)
    image_height: int | None = Field(None, gt=0)
    image_width: int | None = Field(None, gt=0)
    block_height: int = Field(4, gt=0)
    memory_height: int = Field(8, gt=0)

    @model_validator(mode="after")
    def _memory_holds_its_block(self) -> "ImageTransformerOptions":
        for memory, block in (("memory", "block"), ("memory_height", "block_height")):
            least, given = getattr(self, block), getattr(self, memory)
            if given < least:
                raise ValueError(f"{memory} {given} is less than {block}; choose at least {least}")
        return self

    @model_validator(mode="after")
    def _only_what_the_mode_has(self) -> "ImageTransformerOptions":
        needless = sorted(ONLY_2D & self.model_fields_set)
        if self.mode == "1d" and needless:
            raise ValueError(f"mode 1d has no {needless[0]}; leave it out or choose mode=2d")
        if self.mode == "2d" and (self.image_height is None or self.image_width is None):
            raise ValueError("mode 2d needs image_height and image_width; give both")
        return self


@dataclass(frozen=True)
class ImagePlan:
    """Queries, keys and the pattern of blocks."""

    q: Heads
    k: Heads
    pattern: Pattern


class ImageTransformer(Attention[ImagePlan]):
    """Multi-head softmax attention from blocks of pixels to the memory around them."""

    card = CARDS["image-transformer"]
    options_type = ImageTransformerOptions
    takes_rotary = True
    is_function = True

    def __init__(
        self, place: Place, options: ImageTransformerOptions, previous: Mixer | None = None
    ) -> None:
        super().__init__(place, options, previous)
        self.options = options
        pixels = (options.image_height or 0) * (options.image_width or 0)
        if options.mode == "2d" and pixels != place.max_length:
            raise UserError(
                f"an image of {options.image_height} x {options.image_width} has {pixels} pixels, "
                f"not the {place.max_length} tokens of a sequence; give the task's image_height "
                "and image_width"
            )

    def plan(self, x: Tokens, mask: Mask) -> ImagePlan:
        pattern = self.tables(x.shape[1]).pattern(mask, self.place.causal)
        return ImagePlan(self.queries(x), self.keys(x), pattern)

    def apply(self, plan: ImagePlan, v: Values) -> Values:  # type: ignore[override]
        return attend(plan.pattern, plan.q, plan.k, v)

    def tables(self, length: int) -> Tables:
        """Return the positions of the queries and of the memory of every block."""
        options, causal = self.options, self.place.causal
        if options.image_width is None:
            line = Line.of(length, options.block, options.memory, causal)
            return Tables(line.queries(), line.keys())
        rows, columns = self._lines(-(-length // options.image_width), options.image_width)
        return Tables.of_rectangles(rows, columns)

    def decoder(self, batch: int) -> Decoder:
        options = self.options
        if options.image_height is None or options.image_width is None:
            sight = blocks_back(options.block, options.memory - options.block)
        else:
            sight = rectangle_back(*self._lines(options.image_height, options.image_width))
        return PatternDecoder(self, batch, [sight])

    def _lines(self, height: int, width: int) -> tuple[Line, Line]:
        """Lay a memory around each block of rows, and around each block of columns."""
        options = self.options
        rows = Line.of(height, options.block_height, options.memory_height, self.place.causal)
        return rows, Line.of(width, options.block, options.memory)

"""Poolingformer: a sliding window, then a wider one over pooled keys and values.

    y_i = softmax over |i - j| <= window_1 / 2 of q_i . k_j / sqrt(d), applied to v_j
    z_i = softmax over |i - t s| <= window_2 / 2 of q'_i . k'_t / sqrt(d), applied to v'_t
    output = W (y + z)

Level two reads the output of level one: q', k', v' are projections of y, and every `stride`-th
position stands for the `kernel` positions around it, whose k' and v' are pooled (`pooling.py`).
Only the last quarter of the layers has the second level; the layers below have only the window.

Paper:  Zhang et al. (2021), https://arxiv.org/abs/2105.04371
Cost:   time O(N (w_1 + w_2 / s) d), memory O(N d).
Choice: pooled positions are multiples of the stride in the whole sequence, t s for t = 0, 1, ...,
        and not counted anew in every query's window: each is pooled once for all queries. A pooled
        position whose own token is padded does not exist. A query with none in its window, as with
        a window narrower than the stride, has z = 0.
Choice: rotary positions turn pooled keys by the positions t s, so that what a slot holds does not
        depend on where it stands.
Choice: with `mix` level two reads the input of the layer; with `share_weights` it uses the
        projections of level one. Both are the paper's ablations. y is as wide as the values, so
        shared weights need values as wide as the tokens, or `mix`.
"""

from collections.abc import Iterator
from typing import Literal, TypeAlias

import torch
from einops import rearrange
from jaxtyping import Float
from pydantic import Field
from torch import Tensor, nn

from longarena.attention.base import Mixer, Place
from longarena.attention.cards import CARDS
from longarena.attention.ops.blocks import Pattern, Window, attend, cut, gather, join, look_up
from longarena.attention.ops.blocks import sliding_window as window_pattern
from longarena.attention.ops.pooling import POOLS, Grid
from longarena.attention.ops.projection import projection
from longarena.attention.ops.rotary import rotate_by_position
from longarena.errors import UserError
from longarena.options import Options
from longarena.shapes import Heads, Mask, Tokens

Answers: TypeAlias = Float[Tensor, "batch length qkv_width"]

# queries per problem: smaller blocks load fewer keys that no query sees, larger ones share more
BLOCK = 64


def sliding_window(mask: Mask, width: int) -> Pattern:
    """Let every query see `width` keys around itself."""
    length = mask.shape[1]
    reach = min(width // 2, length - 1)
    return window_pattern(mask, Window(min(BLOCK, length), before=reach, after=reach))


def window_over_pooled(mask: Mask, grid: Grid, width: int) -> Pattern:
    """Let every query see the pooled positions in a window around it."""
    batch, length = mask.shape
    reach = min(width // 2, length - 1)
    block = min(BLOCK, length)
    start = torch.arange(0, length, block)[:, None]
    first = (start - reach).div(grid.stride, rounding_mode="floor")
    slots = first + torch.arange((block + 2 * reach) // grid.stride + 2)
    rows, real = look_up(grid.real(mask), slots[None, :, :, None])
    queries = start + torch.arange(block)
    near = (slots[:, None, :] * grid.stride - queries[:, :, None]).abs() <= reach
    allowed = real & near.repeat(batch, 1, 1)[:, None].to(mask.device)

    def join_seeing(y: Tensor) -> Tensor:
        # the first pooled position before a query is at most stride - 1 away
        if reach < grid.stride - 1:
            y = y * allowed.any(dim=-1, keepdim=True)
        return join(y, batch, length)

    return Pattern(
        cut=lambda q: cut(q, block),
        sets=lambda k: gather(k, rows),
        join=join_seeing,
        allowed=allowed,
    )


class Projections(nn.Module):
    """The query, key and value of one level, cut into heads."""

    def __init__(self, width: int, place: Place) -> None:
        super().__init__()
        self.num_heads = place.num_heads
        self.query, self.key, self.value = (projection(width, place.qkv_width) for _ in range(3))

    def forward(self, x: Tokens) -> Iterator[Heads]:
        for project in (self.query, self.key, self.value):
            yield rearrange(project(x), "b n (h d) -> b h n d", h=self.num_heads)


class PoolingformerOptions(Options):
    """Two windows, how the wider one is pooled, and how many of the last layers have it."""

    window_1: int = Field(128, gt=0)
    window_2: int = Field(512, gt=0)
    pool: Literal["mean", "max", "ldconv"] = "ldconv"
    kernel: int = Field(5, gt=0)
    stride: int = Field(4, gt=0)
    mix: bool = False
    share_weights: bool = False
    layers: int | None = Field(None, ge=0)


class Poolingformer(Mixer):
    """Multi-head sliding windows, in the last layers with a second level over pooled keys."""

    card = CARDS["poolingformer"]
    options_type = PoolingformerOptions
    takes_rotary = True

    def __init__(
        self, place: Place, options: PoolingformerOptions, previous: Mixer | None = None
    ) -> None:
        super().__init__(place, options, previous)
        self.options = options
        self.level_1 = Projections(place.width, place)
        self.output = projection(place.qkv_width, place.width)
        two_level_layers = max(1, place.depth // 4) if options.layers is None else options.layers
        self.has_level_2 = place.layer >= place.depth - two_level_layers
        if self.has_level_2:
            width = place.width if options.mix else place.qkv_width
            if not options.share_weights:
                self.level_2 = Projections(width, place)
            elif width != place.width:
                raise UserError(
                    f"poolingformer: share_weights reads level one, {width} wide, by matrices for "
                    f"width {place.width}; choose qkv_width={place.width} or mix=true"
                )
            pool, grid = POOLS[options.pool], Grid(options.kernel, options.stride)
            self.pool_keys, self.pool_values = (
                pool(grid, place.num_heads, place.head_size) for _ in range(2)
            )

    def forward(self, x: Tokens, mask: Mask) -> Tokens:
        q, k, v = self.level_1(x)
        q, k = self._rotated(q), self._rotated(k)
        y = rearrange(
            attend(sliding_window(mask, self.options.window_1), q, k, v), "b h n d -> b n (h d)"
        )
        if self.has_level_2:
            y = y + self._over_pooled(x if self.options.mix else y, mask)
        mixed: Tensor = self.output(y)
        return mixed

    def _over_pooled(self, x: Tokens, mask: Mask) -> Answers:
        level = self.level_1 if self.options.share_weights else self.level_2
        q, k, v = level(x)
        grid = Grid(self.options.kernel, self.options.stride)
        pattern = window_over_pooled(mask, grid, self.options.window_2)
        k = self._rotated(self.pool_keys(k, mask), self.options.stride)
        z = attend(pattern, self._rotated(q), k, self.pool_values(v, mask))
        return rearrange(z, "b h n d -> b n (h d)")

    def _rotated(self, t: Heads, step: int = 1) -> Heads:
        """Rotate queries or keys that stand `step` apart, if the positions are rotary."""
        return rotate_by_position(t, step) if self.place.rotary else t

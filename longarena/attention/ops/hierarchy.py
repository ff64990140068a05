"""A hierarchy of cells over a sequence: who meets whom on which level, and means of two cells.

Level 0 has the tokens, and a cell of each next level is two cells of the level below. Every level
is cut into blocks of cells. At level 0 a block meets itself and both neighbours. Above, it meets
its neighbours, but for the halves that touch, which have met one level below:

          c d
       a  x x      the halves a b of a block and c d of the next one
       b  . x

So two tokens meet once, at a level that depends on their positions alone. The hierarchy begins with
the row and goes on behind it in empty cells, so that a row has the same one in any batch.

Paper:  Zhu and Soricut (2021), https://arxiv.org/abs/2107.11906
"""

import math
from dataclasses import dataclass
from typing import TypeAlias

import torch
import torch.nn.functional as F
from einops import rearrange
from jaxtyping import Bool, Float
from torch import Tensor

from longarena.shapes import Mask

Cells: TypeAlias = Float[Tensor, "batch heads cells size"]
# those of the next level
Coarse: TypeAlias = Float[Tensor, "batch heads coarse_cells size"]
Pairs: TypeAlias = Float[Tensor, "batch heads pairs 2 size"]
Shares: TypeAlias = Float[Tensor, "batch 1 pairs 1"]
# of every cell: how many tokens it has
Sizes: TypeAlias = Float[Tensor, "batch cells"]


@dataclass(frozen=True)
class Level:
    """Which blocks meet, `offsets` apart, what is added to their scores, and what a pair becomes.

    The bias is the logarithm of the size of a cell, or minus infinity where cells do not meet. In
    the mean of a pair the second cell has a share: of keys as one of two cells, unless it is empty,
    of values as many as it has tokens.
    """

    block: int
    offsets: tuple[int, ...]
    bias: Float[Tensor, "offsets batch 1 blocks #queries keys"]
    key_share: Shares
    value_share: Shares


def build_levels(mask: Mask, block: int, dtype: torch.dtype) -> list[Level]:
    """Lay the hierarchy over every row, up to the level at which two blocks are left.

    >>> mask = torch.ones(1, 100, dtype=torch.bool)
    >>> [level.bias.shape[3] for level in build_levels(mask, 8, torch.float32)]
    [13, 7, 4, 2]
    """
    sizes = fill_blocks(mask.to(dtype), block)
    levels = [_level(sizes, block, (-1, 0, 1) if sizes.shape[1] > block else (0,))]
    while sizes.shape[1] > 2 * block:
        sizes = fill_blocks(rearrange(sizes, "b (n two) -> b n two", two=2).sum(dim=-1), block)
        levels.append(_level(sizes, block, (-1, 1)))
    return levels


def _level(sizes: Sizes, block: int, offsets: tuple[int, ...]) -> Level:
    blocks = rearrange(sizes, "b (n s) -> b n s", s=block)
    num_blocks = blocks.shape[1]
    beside = F.pad(blocks, (0, 0, 1, 1))
    met = torch.stack([beside[:, 1 + offset :][:, :num_blocks] for offset in offsets])
    bias = rearrange(met.log(), "o b n s -> o b 1 n 1 s")
    if 0 not in offsets:
        bias = bias.masked_fill(_touching(block, sizes.device), -math.inf)
    return Level(block, offsets, bias, _share(sizes.sign()), _share(sizes))


def _touching(block: int, device: torch.device) -> Bool[Tensor, "offsets 1 1 1 queries keys"]:
    """Tell which cells of a block touch the block before it and the one after it."""
    is_late = torch.arange(block, device=device) >= block // 2
    before = ~is_late[:, None] & is_late
    return rearrange(torch.stack([before, before.mT]), "o i j -> o 1 1 1 i j")


def _share(weights: Sizes) -> Shares:
    first, second = rearrange(weights, "b (n two) -> two b 1 n 1", two=2)
    share: Tensor = second / (first + second).clamp_min(1.0)
    return share


def fill_blocks(x: Tensor, block: int, dim: int = 1) -> Tensor:
    """Append zeros until the last block is full."""
    extra = -x.shape[dim] % block
    return F.pad(x, (0, 0) * (x.dim() - 1 - dim) + (0, extra)) if extra else x


def pairs(x: Cells) -> Pairs:
    """Put cells beside each other that are one cell of the next level."""
    return rearrange(x, "b h (n two) d -> b h n two d", two=2)


def coarsen(x: Cells, share: Shares, block: int) -> Coarse:
    """Take the means of pairs: the cells of the next level."""
    first, second = pairs(x).unbind(dim=3)
    return fill_blocks(torch.lerp(first, second, share), block, dim=2)


def refine(coarse: Coarse, share: Shares) -> Cells:
    """Take the gradients of means back to the pairs; the inverse in shape of `coarsen`."""
    both = torch.stack([1 - share, share], dim=3)
    return (coarse[:, :, : share.shape[2], None] * both).flatten(2, 3)

"""Blocks of tokens: make one vector of each, and select a few of them for every query.

    k_block = outer(relu(inner [k_1 + p_1, ..., k_b + p_b]))     p: positions in a block

A padded token puts zeros there, without a position. A query selects the first block, its own, the
one before that and, unless causal, the one after; and then, among those that it sees, the blocks
whose keys have the largest products with it.
"""

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from einops import rearrange
from jaxtyping import Bool, Float
from torch import Tensor, nn

from longarena.attention.ops.blocks import cut_mask
from longarena.attention.ops.chosen_blocks import Chosen
from longarena.attention.ops.projection import projection
from longarena.shapes import Heads, Mask

# the first block, a query's own, and one on either side
NUM_FIXED = 4

Summaries = Float[Tensor, "batch heads blocks size"]
PerBlock = Bool[Tensor, "batch 1 #queries blocks"]


class Compression(nn.Module):
    """Two linear maps, which turn the vectors of a block into one; the heads share them."""

    def __init__(self, block: int, size: int) -> None:
        super().__init__()
        self.inner = projection(block * size, size)
        self.outer = projection(size, size)

    def forward(self, t: Heads, mask: Mask, position: Float[Tensor, "block size"]) -> Summaries:
        """Make one vector of every block of (batch, heads, length, size)."""
        block = len(position)
        extra = -t.shape[2] % block
        t = torch.where(mask[:, None, :, None], t, 0.0)
        t = F.pad(t, (0, 0, 0, extra)) if extra else t  # nothing to add would cost a copy too
        tokens = self.inner(rearrange(t, "b h (n s) d -> b h n (s d)", s=block))
        # a map of a sum: the positions are mapped by themselves, once for all blocks
        parts = rearrange(self.inner.weight, "e (s d) -> e s d", s=block)
        table = torch.einsum("esd,sd->se", parts, position)
        real = cut_mask(mask, block).view(len(mask), -1, block)
        places = (real.to(table.dtype) @ table)[:, None]
        summaries: Tensor = self.outer(F.relu(tokens + places))
        return summaries


@dataclass(frozen=True)
class Blocks:
    """Which blocks a query sees, and which of them it selects in any case."""

    seen: PerBlock
    fixed: PerBlock


def look_at_blocks(mask: Mask, block: int, causal: bool, first: int = 0) -> Blocks:
    """Tell the queries from `first` on what they see: all blocks, when causal complete ones."""
    exists = cut_mask(mask, block).view(len(mask), 1, 1, -1, block).any(dim=-1)
    number = torch.arange(exists.shape[-1], device=mask.device)
    position = torch.arange(first, mask.shape[1], device=mask.device)[:, None]
    ahead = number - position // block
    fixed = (number == 0) | ((ahead >= -1) & (ahead <= (0 if causal else 1)))
    seen = exists & ((number + 1) * block - 1 <= position) if causal else exists
    return Blocks(seen, exists & fixed)


def select_blocks(q: Heads, k: Summaries, blocks: Blocks, select: int) -> Chosen:
    """Select the fixed blocks and the best of those seen; fewer where there are not so many."""
    num_blocks = k.shape[2]
    # in half precision too many blocks would be equally good
    dtype = torch.promote_types(q.dtype, torch.float32)
    bias = torch.zeros((), dtype=dtype, device=q.device).masked_fill(~blocks.seen, -math.inf)
    bias = bias.masked_fill(blocks.fixed, math.inf)
    with torch.autocast(q.device.type, enabled=False):
        products = (q.to(dtype) @ k.to(dtype).mT).add_(bias)
    best = products.topk(min(select, num_blocks), dim=-1, sorted=False)
    return best.indices.masked_fill(best.values == -math.inf, num_blocks)

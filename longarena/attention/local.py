"""Local attention: contiguous blocks, each of which attends to itself.

    y_i = sum_j softmax_j(q_i . k_j / sqrt(d)) v_j      j in the block of i, or in `neighbours`
                                                        more blocks on either side

A token learns nothing about what lies outside its block, so this shows how much of a task can be
solved without long range. With neighbours, the reach grows by as many blocks from layer to layer.

Paper:  Tay et al. (2021), https://arxiv.org/abs/2011.04006 (the baseline "Local Attention")
Cost:   time O(N b d), memory O(N d), for blocks of b.
Choice: blocks are contiguous. The release intended that too, but its reshape made them strided.
        When causal, a query sees its block up to itself and the neighbours before it.
"""

from dataclasses import dataclass

from pydantic import Field

from longarena.attention.base import Attention, Mixer, Place
from longarena.attention.cards import CARDS
from longarena.attention.ops.blocks import (
    Pattern,
    Window,
    attend,
    cut,
    cut_mask,
    gather,
    join,
    look_up,
)
from longarena.attention.ops.decoder import Decoder
from longarena.attention.ops.key_values import blocks_back
from longarena.attention.pattern_decoder import PatternDecoder
from longarena.options import Options
from longarena.shapes import Heads, Mask, Tokens, Values


def own_block(mask: Mask, block: int, causal: bool = False) -> Pattern:
    """Let every query see its own block."""
    batch, length = mask.shape
    block = min(block, length)
    allowed = cut_mask(mask, block)
    if causal:
        allowed = allowed & (Window(block, 0, 0).distances() <= 0).to(mask.device)
    return Pattern(
        cut=lambda q: cut(q, block),
        sets=lambda k: cut(k, block),
        join=lambda y: join(y, batch, length),
        allowed=allowed,
    )


def neighbouring_blocks(mask: Mask, block: int, neighbours: int, causal: bool = False) -> Pattern:
    """Let every query see its own block and `neighbours` blocks on either side."""
    batch, length = mask.shape
    block = min(block, length)
    reach = min(neighbours, -(-length // block) - 1) * block
    window = Window(block, before=reach, after=0 if causal else reach)
    rows, allowed = look_up(mask, window.positions(length)[None, :, :, None])
    if causal:
        allowed = allowed & (window.distances() <= 0).to(mask.device)
    return Pattern(
        cut=lambda q: cut(q, block),
        sets=lambda k: gather(k, rows),
        join=lambda y: join(y, batch, length),
        allowed=allowed,
    )


@dataclass(frozen=True)
class LocalPlan:
    """Queries, keys and the pattern of blocks."""

    q: Heads
    k: Heads
    pattern: Pattern


class LocalOptions(Options):
    """Blocks of `block` tokens; each sees `neighbours` more blocks on either side."""

    block: int = Field(default=64, ge=1)
    neighbours: int = Field(default=0, ge=0)


class Local(Attention[LocalPlan]):
    """Multi-head softmax attention inside blocks."""

    card = CARDS["local"]
    options_type = LocalOptions
    takes_rotary = True
    is_function = True

    def __init__(self, place: Place, options: LocalOptions, previous: Mixer | None = None) -> None:
        super().__init__(place, options, previous)
        self.options = options

    def plan(self, x: Tokens, mask: Mask) -> LocalPlan:
        block, neighbours = self.options.block, self.options.neighbours
        if neighbours:
            pattern = neighbouring_blocks(mask, block, neighbours, self.place.causal)
        else:
            pattern = own_block(mask, block, self.place.causal)
        return LocalPlan(self.queries(x), self.keys(x), pattern)

    def apply(self, plan: LocalPlan, v: Values) -> Values:  # type: ignore[override]
        return attend(plan.pattern, plan.q, plan.k, v)

    def decoder(self, batch: int) -> Decoder:
        block, neighbours = self.options.block, self.options.neighbours
        return PatternDecoder(self, batch, [blocks_back(block, neighbours * block)])

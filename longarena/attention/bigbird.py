"""BigBird: a window of blocks, a few random blocks, and the first blocks global both ways.

    a block of queries sees     the first `global_blocks` blocks, `window` blocks around itself,
                                and `random` more blocks, drawn per head and query block
    the global blocks see       everything

Random edges connect any two blocks within a few layers, global ones within two. The paper proves
that such sparse attention is still a universal approximator and Turing complete.

Paper:  Zaheer et al. (2020), https://arxiv.org/abs/2007.14062 (internal construction, ITC)
Cost:   time O(N b m d), memory O(N d), for m = global + window + random blocks of b tokens.
Choice: random blocks are drawn without repetition from the real blocks of the row that are not seen
        already; if fewer are left, all of them are taken. (The release draws from the first 1,024
        tokens only.) A row's draw depends on its own length, so padding changes nothing.
Choice: the draw is made once, from (seed, layer), and saved with the weights.
Choice: with `etc=g` the first g positions are extra global tokens, and the blocks begin after them.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Int
from pydantic import Field, field_validator
from torch import Tensor

from longarena.attention.base import Attention, Mixer, Place
from longarena.attention.cards import CARDS
from longarena.attention.ops.blocks import Pattern, attend, cut, gather, join, look_up
from longarena.attention.ops.visible import visible_keys
from longarena.options import Options
from longarena.seeding import torch_rng
from longarena.shapes import Heads, Mask, Tokens, Values

# a draw is a whole number below this; modulo the number of candidates it is all but uniform
DRAWS = 1 << 40
# the number of a block that does not exist; it is larger than that of any block that does
NO_BLOCK = 1 << 40

Draws = Int[Tensor, "heads blocks random"]
# for every row, query block that is not global, and head: the numbers of its key blocks
Table = Int[Tensor, "batch blocks keys heads"]


class BigBirdOptions(Options):
    """Blocks of `block` tokens; each sees `window` around it, `random` others, the global ones."""

    block: int = Field(default=64, ge=1)
    window: int = Field(default=3, ge=1)
    random: int = Field(default=3, ge=0)
    global_blocks: int = Field(default=2, ge=0)
    etc: int = Field(default=0, ge=0)

    @field_validator("window")
    @classmethod
    def _is_odd(cls, window: int) -> int:
        if window % 2 == 0:
            raise ValueError(f"a window is centred on its block; choose {window + 1}")
        return window

    @property
    def reach(self) -> int:
        """How many blocks the window reaches to either side."""
        return self.window // 2


def fixed_blocks(num_blocks: int, options: BigBirdOptions) -> Int[Tensor, "blocks keys"]:
    """List the global blocks and the window of every block that is not global itself."""
    first = options.global_blocks
    around = torch.arange(-options.reach, options.reach + 1)
    near = torch.arange(first, num_blocks)[:, None] + around
    near = near.masked_fill(near < first, NO_BLOCK)  # a global block counts once
    return torch.cat([torch.arange(first).expand(near.shape[0], -1), near], dim=1)


def with_random_blocks(
    fixed: Table, draws: Draws, num_real: Int[Tensor, " batch"]
) -> Int[Tensor, "batch blocks keys+random heads"]:
    """Add one block per draw, chosen from the real blocks of the row that are not yet there."""
    num_real = num_real[:, None, None]
    table = fixed.masked_fill(fixed >= num_real[..., None], NO_BLOCK)
    for draw in draws.transpose(0, 1).unbind(dim=2):
        num_left = num_real - (table < NO_BLOCK).sum(dim=2)
        chosen = draw % num_left.clamp_min(1)
        for taken in table.sort(dim=2).values.unbind(dim=2):
            chosen = chosen + (chosen >= taken)  # count past what is taken already
        chosen = chosen.masked_fill(num_left <= 0, NO_BLOCK)
        table = torch.cat([table, chosen[:, :, None]], dim=2)
    return table


def sparse_pattern(mask: Mask, draws: Draws, options: BigBirdOptions) -> Pattern:
    """Let every block after the global ones see its key blocks and the extra global tokens."""
    (batch, length), (num_heads, _, _) = mask.shape, draws.shape
    block, etc = options.block, options.etc
    num_blocks = -(-(length - etc) // block)
    ends = (mask * torch.arange(1, length + 1, device=mask.device)).amax(dim=1)  # real lengths
    num_real = (ends - etc + block - 1).clamp_min(0) // block

    fixed = fixed_blocks(num_blocks, options).to(mask.device)
    fixed = fixed[None, :, :, None].expand(batch, -1, -1, num_heads)
    table = with_random_blocks(fixed, draws[:, options.global_blocks : num_blocks], num_real)
    tokens = etc + table[:, :, :, None] * block + torch.arange(block, device=mask.device)[:, None]
    extra = torch.arange(etc, device=mask.device)[:, None].expand(*table.shape[:2], -1, num_heads)
    rows, allowed = look_up(mask, torch.cat([extra, tokens.flatten(2, 3)], dim=2))
    return Pattern(
        cut=lambda q: cut(q, block),
        sets=lambda k: gather(k, rows),
        join=lambda y: join(y, batch, length - etc - options.global_blocks * block),
        allowed=allowed,
    )


@dataclass(frozen=True)
class BigBirdPlan:
    """Queries, keys, and the pattern of the queries after the global ones, if there are any."""

    q: Heads
    k: Heads
    mask: Mask
    pattern: Pattern | None


class BigBird(Attention[BigBirdPlan]):
    """Multi-head softmax attention over global, near and random blocks."""

    card = CARDS["bigbird"]
    options_type = BigBirdOptions
    takes_rotary = True
    draws: Draws

    def __init__(
        self, place: Place, options: BigBirdOptions, previous: Mixer | None = None
    ) -> None:
        super().__init__(place, options, previous)
        self.options = options
        self.num_global_tokens = options.etc
        size = (place.num_heads, -(-place.max_length // options.block), options.random)
        rng = torch_rng(place.seed, "random blocks", place.layer)
        self.register_buffer("draws", torch.randint(DRAWS, size, generator=rng))

    @property
    def num_global(self) -> int:
        """How many positions are global."""
        return self.options.etc + self.options.global_blocks * self.options.block

    def plan(self, x: Tokens, mask: Mask) -> BigBirdPlan:
        all_global = x.shape[1] <= self.num_global
        pattern = None if all_global else sparse_pattern(mask, self.draws, self.options)
        return BigBirdPlan(self.queries(x), self.keys(x), mask, pattern)

    def apply(self, plan: BigBirdPlan, v: Values) -> Values:  # type: ignore[override]
        seen = visible_keys(plan.mask)[:, None, None, :]
        q = plan.q[:, :, : self.num_global]
        y = F.scaled_dot_product_attention(q, plan.k, v, attn_mask=seen)
        if plan.pattern is None:
            return y
        rest = attend(plan.pattern, plan.q[:, :, self.num_global :], plan.k, v)
        # joined with the heads after the positions, the layout that the output projection reads
        return torch.cat([y.transpose(1, 2), rest.transpose(1, 2)], dim=1).transpose(1, 2)

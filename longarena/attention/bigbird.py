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
Choice: the paper's BigBird is an encoder; its models that write text decode with full attention.
        When causal, a query here sees its block up to itself, the half of the window before it, the
        first `global_blocks` blocks, and `random` blocks drawn from the others before it. So global
        blocks are seen by all that come later but see only what came before, and extra global
        tokens are refused. What is drawn for a block is a function of (seed, layer, head, block):
        neither later tokens nor the length of the row change it.
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
from longarena.attention.ops.decoder import Decoder
from longarena.attention.ops.key_values import Sight
from longarena.attention.ops.visible import visible_keys
from longarena.attention.pattern_decoder import PatternDecoder
from longarena.errors import UserError
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


def fixed_blocks(
    query_blocks: Int[Tensor, " blocks"], options: BigBirdOptions, after: int
) -> Int[Tensor, "blocks keys"]:
    """List the global blocks and the window, which ends `after` blocks later, of query blocks."""
    first = options.global_blocks
    around = torch.arange(-options.reach, after + 1)
    near = query_blocks[:, None] + around
    near = near.masked_fill(near < first, NO_BLOCK)  # a global block counts once
    return torch.cat([torch.arange(first).expand(near.shape[0], -1), near], dim=1)


def with_random_blocks(
    fixed: Table, draws: Draws, num_known: Int[Tensor, "#batch #blocks"]
) -> Int[Tensor, "batch blocks keys+random heads"]:
    """Add one block per draw, chosen from the first `num_known` blocks that are not yet there."""
    num_known = num_known[..., None]
    table = fixed.masked_fill(fixed >= num_known[..., None], NO_BLOCK)
    for draw in draws.transpose(0, 1).unbind(dim=2):
        num_left = num_known - (table < NO_BLOCK).sum(dim=2)
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

    not_global = torch.arange(options.global_blocks, num_blocks)
    fixed = fixed_blocks(not_global, options, options.reach).to(mask.device)
    fixed = fixed[None, :, :, None].expand(batch, -1, -1, num_heads)
    draws = draws[:, options.global_blocks : num_blocks]
    table = with_random_blocks(fixed, draws, num_real[:, None])
    tokens = etc + table[:, :, :, None] * block + torch.arange(block, device=mask.device)[:, None]
    extra = torch.arange(etc, device=mask.device)[:, None].expand(*table.shape[:2], -1, num_heads)
    rows, allowed = look_up(mask, torch.cat([extra, tokens.flatten(2, 3)], dim=2))
    return Pattern(
        cut=lambda q: cut(q, block),
        sets=lambda k: gather(k, rows),
        join=lambda y: join(y, batch, length - etc - options.global_blocks * block),
        allowed=allowed,
    )


def past_blocks(draws: Draws, options: BigBirdOptions) -> Int[Tensor, "blocks keys heads"]:
    """List the key blocks of every block when nothing later may be seen, in order."""
    num_heads, num_blocks, _ = draws.shape
    every = torch.arange(num_blocks)
    fixed = fixed_blocks(every, options, after=0).to(draws.device)[None, :, :, None]
    so_far = (every + 1).to(draws.device)
    table = with_random_blocks(fixed.expand(-1, -1, -1, num_heads), draws, so_far[None])
    return table[0].sort(dim=1).values[:, :num_blocks]


def past_pattern(mask: Mask, draws: Draws, options: BigBirdOptions) -> Pattern:
    """Let every block see its key blocks, and no query a later key."""
    (batch, length), block = mask.shape, options.block
    num_blocks = -(-length // block)
    blocks = past_blocks(draws[:, :num_blocks], options)
    offsets = torch.arange(block, device=mask.device)
    keys = (blocks[:, :, None] * block + offsets[:, None]).flatten(1, 2)
    queries = torch.arange(num_blocks, device=mask.device)[:, None] * block + offsets
    rows, _ = look_up(mask, keys[None])
    # no real query comes after padding, and every head has as many blocks, the own one last
    earlier = keys[:, None, None, :, 0] <= queries[:, None, :, None]
    return Pattern(
        cut=lambda q: cut(q, block),
        sets=lambda k: gather(k, rows),
        join=lambda y: join(y, batch, length),
        allowed=earlier.repeat(batch, 1, 1, 1),
    )


def past_sight(draws: Draws, options: BigBirdOptions) -> Sight:
    """See the key blocks of the own block; all are kept, for a later block may draw any."""
    block = options.block
    table = past_blocks(draws.cpu(), options)
    num_seen = (table[..., 0] < NO_BLOCK).sum(dim=1).tolist()
    offsets = torch.arange(block)

    def show(rows: Tensor, position: int) -> Tensor:
        number, offset = divmod(position, block)
        blocks = table[number, : num_seen[number]].T
        places = (blocks[..., None] * block + offsets).flatten(1)
        places = places[:, : places.shape[1] - block + offset + 1].to(rows.device)
        pairs = zip(rows.unbind(dim=1), places, strict=True)
        return torch.stack([own.index_select(1, seen) for own, seen in pairs], dim=1)

    return Sight(show)


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
    is_function = True
    draws: Draws

    def __init__(
        self, place: Place, options: BigBirdOptions, previous: Mixer | None = None
    ) -> None:
        super().__init__(place, options, previous)
        self.options = options
        self.num_global_tokens = options.etc
        if place.causal and options.etc:
            raise UserError(
                f"bigbird: the {options.etc} extra global tokens see everything, which no causal "
                "model may; leave out etc"
            )
        self.register_buffer("draws", _draw(place, options))

    @property
    def num_global(self) -> int:
        """How many positions see everything."""
        if self.place.causal:
            return 0
        return self.options.etc + self.options.global_blocks * self.options.block

    def plan(self, x: Tokens, mask: Mask) -> BigBirdPlan:
        pattern = None
        if x.shape[1] > self.num_global:
            make = past_pattern if self.place.causal else sparse_pattern
            pattern = make(mask, self.draws, self.options)
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

    def decoder(self, batch: int) -> Decoder:
        return PatternDecoder(self, batch, [past_sight(self.draws, self.options)])


def _draw(place: Place, options: BigBirdOptions) -> Draws:
    """Draw the numbers that choose random blocks, for every head and query block."""
    heads, blocks = place.num_heads, -(-place.max_length // options.block)
    purpose = "random blocks", place.layer
    if not place.causal:
        rng = torch_rng(place.seed, *purpose)
        return torch.randint(DRAWS, (heads, blocks, options.random), generator=rng)
    # a stream for every head, drawn block after block: more blocks change no earlier one
    streams = [torch_rng(place.seed, *purpose, head) for head in range(heads)]
    own = [torch.randint(DRAWS, (blocks, options.random), generator=rng) for rng in streams]
    return torch.stack(own)

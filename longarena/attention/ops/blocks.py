"""The engine of the sparse mechanisms: cut the queries into blocks, gather the keys of each.

A block of queries and the keys that any of them may see form one small dense problem; all problems
are folded into the batch, and one fused softmax attention solves them. A mechanism describes itself
by a `Pattern`: how queries are cut, which keys each problem gets, which of these are allowed.

    y = join(softmax(cut(q) sets(k)^T / sqrt(d), where allowed) sets(v))

Every query has one softmax over all its keys, and no tensor of size N x N is ever made.

Cost:   time O(N m d) for m keys per problem; memory O(N d), since gathered keys and values are not
        kept for the backward pass but gathered again there (`recompute.py`).
Choice: a query that may see nothing sees all keys of its problem, since a softmax over nothing is
        not a number. This happens to padded queries only, or else the mechanism deals with it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
import torch.nn.functional as F
from einops import rearrange
from jaxtyping import Float, Int
from torch import Tensor

from longarena.attention.ops.recompute import recomputed
from longarena.attention.ops.visible import Allowed, visible
from longarena.shapes import Heads, Mask, Values

Blocks = Float[Tensor, "problems heads queries size"]
Sets = Float[Tensor, "problems heads keys size"]
# the positions of the keys of each problem; a position outside the sequence is not a key. The rows
# of a batch share one table or have their own (first size), and so do the heads (last size).
Positions = Int[Tensor, "#batch blocks keys #heads"]


@dataclass(frozen=True)
class Pattern:
    """How attention falls apart into small problems."""

    cut: Callable[[Tensor], Tensor]  # queries -> the queries of every problem
    sets: Callable[[Tensor], Tensor]  # keys or values -> those of every problem
    join: Callable[[Tensor], Tensor]  # the answers to the queries of every problem -> rows
    allowed: Allowed


def attend(
    pattern: Pattern, q: Float[Tensor, "batch heads queries size"], k: Heads, v: Values
) -> Float[Tensor, "batch heads queries value_size"]:
    """Attend by softmax inside every problem."""
    k_sets, v_sets = pattern.sets(k), pattern.sets(v)
    with recomputed(
        (k_sets, partial(pattern.sets, k.detach())), (v_sets, partial(pattern.sets, v.detach()))
    ):
        y = F.scaled_dot_product_attention(
            pattern.cut(q), k_sets, v_sets, attn_mask=visible(pattern.allowed)
        )
    return pattern.join(y)


def cut(x: Heads, block: int, step: int = 1) -> Blocks:
    """Cut into blocks of `block` positions, each `step` apart; zeros fill the last ones.

    >>> x = torch.arange(6.0).view(1, 1, 6, 1)
    >>> cut(x, 2).flatten(1).tolist()
    [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]
    >>> cut(x, 3, step=2).flatten(1).tolist()
    [[0.0, 2.0, 4.0], [1.0, 3.0, 5.0]]
    """
    # a projection returns heads after positions; in that order no copy is needed
    x = x.transpose(1, 2)
    extra = -x.shape[1] % (block * step)
    x = F.pad(x, (0, 0, 0, 0, 0, extra)) if extra else x
    return rearrange(x, "b (n s c) h d -> (b c n) h s d", s=block, c=step)


def join(y: Blocks, batch: int, length: int, step: int = 1) -> Heads:
    """Put blocks together again: the inverse of `cut`."""
    return rearrange(y, "(b c n) h s d -> b h (n s c) d", b=batch, c=step)[:, :, :length]


def cut_mask(mask: Mask, block: int, step: int = 1) -> Allowed:
    """Tell which keys of every block that `cut` makes are real."""
    extra = -mask.shape[1] % (block * step)
    padded = F.pad(mask, (0, extra))
    return rearrange(padded, "b (n s c) -> (b c n) 1 1 s", s=block, c=step)


def gather(x: Heads, rows: Int[Tensor, "problems keys tables"]) -> Sets:
    """Gather the keys of every problem by the row numbers that `look_up` returns."""
    tables = rows.shape[2]
    source = rearrange(x, "b (t h) n d -> (b n t) (h d)", t=tables)
    found = source.index_select(0, rows.flatten()).view(*rows.shape, -1, x.shape[3])
    return rearrange(found, "p k t h d -> p (t h) k d")


def look_up(
    mask: Mask, positions: Positions
) -> tuple[Int[Tensor, "problems keys tables"], Allowed]:
    """Turn positions into the row numbers that `gather` takes, and tell which are real keys."""
    batch, length = mask.shape
    tables = positions.shape[3]
    positions = positions.to(mask.device)
    inside = (positions >= 0) & (positions < length)
    first = torch.arange(batch, device=mask.device)[:, None, None, None] * length
    tokens = first + positions.clamp(0, length - 1)
    allowed = mask.flatten()[tokens] & inside
    rows = tokens * tables + torch.arange(tables, device=mask.device)
    return rows.flatten(0, 1), rearrange(allowed, "b n k t -> (b n) t 1 k")


@dataclass(frozen=True)
class Window:
    """Blocks of queries, and how many keys around each are seen before and after, `step` apart."""

    block: int
    before: int
    after: int
    step: int = 1

    def positions(self, length: int) -> Int[Tensor, "blocks keys"]:
        """Return the positions of the keys of every block that `cut` makes.

        >>> Window(block=2, before=1, after=1).positions(4).tolist()
        [[-1, 0, 1, 2], [1, 2, 3, 4]]
        """
        num_blocks = -(-length // (self.block * self.step))
        offsets = torch.arange(-self.before, self.block + self.after)
        steps = torch.arange(num_blocks)[:, None] * self.block + offsets
        return (steps * self.step + torch.arange(self.step)[:, None, None]).flatten(0, 1)

    def distances(self) -> Int[Tensor, "queries keys"]:
        """Tell how many steps each key stands after each query of its block."""
        offsets = torch.arange(-self.before, self.block + self.after)
        return offsets - torch.arange(self.block)[:, None]


def sliding_window(mask: Mask, window: Window, num_global: int = 0) -> Pattern:
    """Let every query see `before` and `after` keys around itself, and the first `num_global`."""
    batch, length = mask.shape
    near = window.positions(length)
    near = near.masked_fill(near < num_global, -1)  # a global key counts once
    first = torch.arange(num_global).expand(near.shape[0], -1)
    rows, real = look_up(mask, torch.cat([near, first], dim=1)[None, :, :, None])
    distances = window.distances()
    band = (distances >= -window.before) & (distances <= window.after)
    band = F.pad(band, (0, num_global), value=True).to(mask.device)
    return Pattern(
        cut=lambda q: cut(q, window.block, window.step),
        sets=lambda k: gather(k, rows),
        join=lambda y: join(y, batch, length, window.step),
        allowed=real & band,
    )

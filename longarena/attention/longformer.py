"""Longformer: a sliding window for every token, and global tokens that see and are seen by all.

    y_i = softmax over j with |i - j| <= window / 2 and over the global j, of q_i . k_j / sqrt(d)
    y_g = softmax over all j of q'_g . k'_j / sqrt(d), applied to v'_j      for a global token g,
                                                                            with its own weights

A dilated head sees the same number of keys, but only every `dilation`-th position. The positions
with one remainder then form a sequence of their own, in which the window is a plain one.

Paper:  Beltagy et al. (2020), https://arxiv.org/abs/2004.05150
Cost:   time O(N (w + g) d), memory O(N d), for a window of w and g global tokens.
Choice: the window is w // 2 keys on either side and the token itself, as in the authors' code.
Choice: the queries of the windows use the ordinary keys and values of the global tokens, as in
        their code.
Choice: a global token's k'_j and v'_j are never computed: q'_g . (W x_j) = (W^T q'_g) . x_j, and
        sum_j a_j (W x_j) = W (sum_j a_j x_j). The result is the same, at the cost of g projections
        instead of N. Rotary positions turn every k'_j by another angle, so there k' is computed.
Choice: `apply` uses one set of values for all rows; `forward` gives the global rows their own.
Choice: when causal, the w // 2 keys before a token and itself remain of its window, as in the
        authors' code for autoregressive models, and no token is global, whatever `global_tokens`
        says: one that saw everything would pass on what comes later.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

import torch
import torch.nn.functional as F
from einops import einsum, rearrange
from jaxtyping import Float
from pydantic import Field, PositiveInt
from torch import Tensor

from longarena.attention.base import Attention, Mixer, Place
from longarena.attention.cards import CARDS
from longarena.attention.ops.blocks import Pattern, Window, attend, sliding_window
from longarena.attention.ops.decoder import Decoder
from longarena.attention.ops.key_values import Sight, steps_back
from longarena.attention.ops.projection import projection
from longarena.attention.ops.visible import visible_keys
from longarena.attention.pattern_decoder import PatternDecoder
from longarena.errors import UserError
from longarena.options import Options
from longarena.shapes import Heads, Mask, Tokens, Values

# queries per problem: smaller blocks load fewer keys that no query sees, larger ones share more
BLOCK = 64


@dataclass(frozen=True)
class DilatedHeads:
    """The heads that share a dilation, and their pattern."""

    heads: list[int]
    pattern: Pattern


@dataclass(frozen=True)
class GlobalRows:
    """The queries of the global tokens, and their keys; None stands for the tokens themselves."""

    q: Float[Tensor, "batch heads globals key_size"]
    k: Heads | None
    tokens: Tokens
    mask: Mask
    scale: float

    def attend(self, v: Values) -> Float[Tensor, "batch heads globals value_size"]:
        """Attend from the global tokens to all real ones."""
        k = self.k
        if k is None:
            k = self.tokens[:, None].expand(-1, self.q.shape[1], -1, -1)
        return F.scaled_dot_product_attention(
            self.q,
            k,
            v,
            attn_mask=visible_keys(self.mask)[:, None, None, :],
            scale=self.scale,
        )


@dataclass(frozen=True)
class LongformerPlan:
    """Queries and keys, a pattern per dilation, and the global rows if there are any."""

    q: Heads
    k: Heads
    groups: list[DilatedHeads]
    global_rows: GlobalRows | None


def window_attention(groups: list[DilatedHeads], q: Heads, k: Heads, v: Values) -> Values:
    """Attend from every token to its window and to the global tokens."""
    if len(groups) == 1:
        return attend(groups[0].pattern, q, k, v)
    answers: dict[int, Tensor] = {}
    for group in groups:
        y = attend(group.pattern, *(pick(t, group.heads) for t in (q, k, v)))
        answers |= dict(zip(group.heads, y.unbind(dim=1), strict=True))
    return torch.stack([answers[head] for head in sorted(answers)], dim=1)


def pick(t: Values, heads: list[int]) -> Float[Tensor, "batch picked length value_size"]:
    """Take some of the heads, without an index that would first be copied to the device."""
    return torch.stack([t[:, head] for head in heads], dim=1)


def window(length: int, width: int, dilation: int, causal: bool = False) -> Window:
    """Lay a window of `width` keys, `dilation` apart, around every query, no wider than needed."""
    steps = -(-length // dilation)
    reach = min(width // 2, steps - 1)
    return Window(min(BLOCK, steps), before=reach, after=0 if causal else reach, step=dilation)


class LongformerOptions(Options):
    """`window` keys around each token, `dilation` apart (one number, or one per head).

    A causal model has the half of the window that lies before each token, and no global tokens.
    """

    window: int = Field(default=128, ge=1)
    dilation: PositiveInt | tuple[PositiveInt, ...] = 1
    global_tokens: int = Field(default=1, ge=0)


class Longformer(Attention[LongformerPlan]):
    """Multi-head sliding windows; the first `global_tokens` positions are global."""

    card = CARDS["longformer"]
    options_type = LongformerOptions
    takes_rotary = True

    def __init__(
        self, place: Place, options: LongformerOptions, previous: Mixer | None = None
    ) -> None:
        super().__init__(place, options, previous)
        self.options = options
        self.num_global_tokens = 0 if place.causal else options.global_tokens
        self.dilations = _per_head(options.dilation, place.num_heads)
        if self.num_global_tokens:
            self.global_query, self.global_key, self.global_value = (
                projection(place.width, place.qkv_width) for _ in range(3)
            )

    def plan(self, x: Tokens, mask: Mask) -> LongformerPlan:
        global_rows = self._global_rows(x, mask) if self.num_global_tokens else None
        q, k = self.queries(x), self.keys(x)
        return LongformerPlan(q, k, list(self._groups(mask)), global_rows)

    def apply(self, plan: LongformerPlan, v: Values) -> Values:  # type: ignore[override]
        y = window_attention(plan.groups, plan.q, plan.k, v)
        if plan.global_rows is None:
            return y
        return torch.cat([plan.global_rows.attend(v), y[:, :, self.num_global_tokens :]], dim=2)

    def forward(self, x: Tokens, mask: Mask) -> Tokens:
        plan = self.plan(x, mask)
        y = window_attention(plan.groups, plan.q, plan.k, self.split(self.value(x)))
        mixed: Tensor = self.output(rearrange(y, "b h n d -> b n (h d)"))
        if plan.global_rows is not None:
            # in place: nothing else keeps what a projection returns, and no other row is copied
            mixed[:, : self.num_global_tokens] = self._global_outputs(plan.global_rows)
        return mixed

    def decoder(self, batch: int) -> Decoder:
        return PatternDecoder(self, batch, list(self._sights()))

    def _sights(self) -> Iterator[Sight]:
        """Give one sight to neighbouring heads that have the same dilation."""
        first = 0
        for dilation, heads in groupby(self.dilations):
            last = first + len(list(heads))
            yield steps_back(dilation, self.options.window // 2, slice(first, last))
            first = last

    def _groups(self, mask: Mask) -> Iterator[DilatedHeads]:
        for dilation in sorted(set(self.dilations)):
            heads = [head for head, own in enumerate(self.dilations) if own == dilation]
            around = window(mask.shape[1], self.options.window, dilation, self.place.causal)
            num_global = min(self.num_global_tokens, mask.shape[1])
            yield DilatedHeads(heads, sliding_window(mask, around, num_global))

    def _global_rows(self, x: Tokens, mask: Mask) -> GlobalRows:
        q = self.rotated(self.split(self.global_query(x[:, : self.num_global_tokens])))
        scale = self.place.head_size**-0.5
        if self.place.rotary:
            k = self.rotated(self.split(self.global_key(x)))
            return GlobalRows(q, k, x, mask, scale)
        weight = rearrange(self.global_key.weight, "(h d) w -> h d w", h=self.place.num_heads)
        q = einsum(q, weight, "b h g d, h d w -> b h g w")
        return GlobalRows(q, None, x, mask, scale)

    def _global_outputs(self, rows: GlobalRows) -> Float[Tensor, "batch globals width"]:
        tokens = rows.tokens[:, None].expand(-1, self.place.num_heads, -1, -1)
        weight = rearrange(self.global_value.weight, "(h d) w -> h d w", h=self.place.num_heads)
        y = einsum(rows.attend(tokens), weight, "b h g w, h d w -> b g h d")
        outputs: Tensor = self.output(rearrange(y, "b g h d -> b g (h d)"))
        return outputs


def _per_head(dilation: int | tuple[int, ...], num_heads: int) -> tuple[int, ...]:
    if isinstance(dilation, int):
        return (dilation,) * num_heads
    if len(dilation) != num_heads:
        raise UserError(f"dilation lists {len(dilation)} entries for {num_heads} heads")
    return dilation

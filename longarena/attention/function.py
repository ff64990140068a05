"""A mechanism as a function of queries, keys and values that somebody else has projected.

    attend = as_function("local", num_heads=4, head_size=16, max_length=512)
    y = attend(q, k, v, mask)      (B, H, N, d) in and out; the mask (B, N) is True at real tokens

This is what other libraries call an attention function: their model keeps its own projections, and
with them whatever it has learnt. It needs a mechanism that knows its tokens by queries and keys
alone and has nothing to learn besides.

Choice: the mechanism is built as ever, and its projections are replaced by ones that pick their
        half of [q, k]. So no mechanism needs code of its own for this.
"""

from collections.abc import Mapping

import torch
from einops import rearrange
from torch import Tensor, nn

from longarena.attention.base import Attention
from longarena.attention.build import build
from longarena.attention.cards import CARDS
from longarena.attention.ops.visible import all_real
from longarena.attention.table import MIXERS
from longarena.errors import UserError
from longarena.shapes import Heads, Mask, Tokens


class _Half(nn.Module):
    """Pick the first or the last `size` channels."""

    def __init__(self, first: int, size: int) -> None:
        super().__init__()
        self.first, self.size = first, size

    def forward(self, x: Tensor) -> Tensor:
        return x[..., self.first : self.first + self.size]


class AttentionFunction:
    """Attends with heads that are given; it has no parameters, and draws what it draws once."""

    def __init__(self, mixer: Attention[object]) -> None:
        width = mixer.place.qkv_width
        for name in mixer.projections:
            delattr(mixer, name)
        if any(True for _ in mixer.parameters()):
            raise UserError(
                f"{mixer.card.name} learns more than its projections under these options"
            )
        setattr(mixer, "query", _Half(0, width))  # noqa: B010 - it is declared as a projection
        setattr(mixer, "key", _Half(width, width))  # noqa: B010
        self.mixer = mixer.eval()

    def __call__(self, q: Heads, k: Heads, v: Heads, mask: Mask | None = None) -> Heads:
        """Spread the values of the real tokens as the mechanism does."""
        place = self.mixer.place
        if q.shape != k.shape or q.shape[1] != place.num_heads or q.shape[3] != place.head_size:
            raise UserError(
                f"queries of shape {tuple(q.shape)} and keys of shape {tuple(k.shape)} are not "
                f"{place.num_heads} heads of size {place.head_size} for the same tokens; without a "
                "cache, and with as many heads of keys as of queries, they are"
            )
        if q.shape[2] > place.max_length:
            raise UserError(
                f"{q.shape[2]} tokens are more than the {place.max_length} that this was made for"
            )
        x = torch.cat([_merged(q), _merged(k)], dim=-1)
        plan = self.mixer.to(q).plan(x, all_real(x) if mask is None else mask.bool())
        return self.mixer.apply(plan, v)


def as_function(  # noqa: PLR0913 - a call from outside: every argument by its name
    name: str,
    *,
    num_heads: int,
    head_size: int,
    max_length: int,
    causal: bool = False,
    seed: int = 0,
    options: Mapping[str, object] | None = None,
) -> AttentionFunction:
    """Make the function of a mechanism; one that cannot be a function is refused."""
    mixer = build(
        name,
        width=num_heads * head_size,
        num_heads=num_heads,
        max_length=max_length,
        causal=causal,
        seed=seed,
        options=options,
    )
    if not isinstance(mixer, Attention) or not mixer.is_function or mixer.num_global_tokens:
        able = ", ".join(each for each in CARDS if getattr(MIXERS[each], "is_function", False))
        raise UserError(
            f"{name} is not a function of queries, keys and values under these options; put its "
            f"layer in the place of another, or choose one of {able}"
        )
    return AttentionFunction(mixer)


def _merged(heads: Heads) -> Tokens:
    return rearrange(heads, "b h n d -> b n (h d)")

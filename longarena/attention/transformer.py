"""Full attention: every token looks at every real token, by softmax.

    y_i = sum_j softmax_j(q_i . k_j / sqrt(d)) v_j

Fused kernels (flash attention) compute this without ever holding the N x N matrix. The option
`materialised` chooses the textbook form that does hold it, which is what the arena's paper timed.

Paper:  Vaswani et al. (2017), https://arxiv.org/abs/1706.03762
Cost:   time O(N^2 d); memory O(N d) fused, O(N^2) materialised.
Choice: no dropout on the weights, since it would need the N x N matrix; the encoder drops outputs.
"""

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F

from longarena.attention.base import Attention, Mixer, Place
from longarena.attention.cards import CARDS
from longarena.attention.ops.cache import Cache
from longarena.attention.ops.decoder import Decoder, Token
from longarena.attention.ops.visible import visible_keys
from longarena.options import Options
from longarena.shapes import Heads, Mask, Tokens, Values


@dataclass(frozen=True)
class SoftmaxPlan:
    """Queries, keys, and the mask of the real keys."""

    q: Heads
    k: Heads
    mask: Mask


def softmax_attention(q: Heads, k: Heads, v: Values, mask: Mask, causal: bool = False) -> Values:
    """Attend by softmax with a fused kernel."""
    if causal:
        # padding comes last, so no real query can see it: the mask would change nothing
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)
    keys = visible_keys(mask)[:, None, None, :]
    return F.scaled_dot_product_attention(q, k, v, attn_mask=keys)


def materialised_attention(
    q: Heads, k: Heads, v: Values, mask: Mask, causal: bool = False
) -> Values:
    """Attend by softmax with the whole matrix in memory."""
    logits = torch.einsum("bhid,bhjd->bhij", q, k) / math.sqrt(q.shape[-1])
    allowed = visible_keys(mask)[:, None, None, :]
    if causal:
        length = q.shape[2]
        allowed = allowed & torch.ones(length, length, dtype=torch.bool, device=q.device).tril()
    weights = logits.masked_fill(~allowed, -math.inf).softmax(dim=-1)
    return torch.einsum("bhij,bhje->bhie", weights, v)


class TransformerOptions(Options):
    """`materialised` holds the N x N matrix, as the paper's Transformer did."""

    materialised: bool = False


class Transformer(Attention[SoftmaxPlan]):
    """Multi-head softmax attention, exact."""

    card = CARDS["transformer"]
    options_type = TransformerOptions
    takes_rotary = True
    is_function = True

    def __init__(
        self, place: Place, options: TransformerOptions, previous: Mixer | None = None
    ) -> None:
        super().__init__(place, options, previous)
        self.attend = materialised_attention if options.materialised else softmax_attention

    def plan(self, x: Tokens, mask: Mask) -> SoftmaxPlan:
        return SoftmaxPlan(self.queries(x), self.keys(x), mask)

    def apply(self, plan: SoftmaxPlan, v: Values) -> Values:  # type: ignore[override]
        return self.attend(plan.q, plan.k, v, plan.mask, self.place.causal)

    def decoder(self, batch: int) -> Decoder:
        return SoftmaxDecoder(self, batch)


class SoftmaxDecoder(Decoder):
    """Keep the keys and values of all tokens."""

    def __init__(self, mixer: Transformer, batch: int) -> None:
        self.mixer = mixer
        row = mixer.zeros(batch, mixer.place.num_heads, mixer.place.head_size)
        self.k, self.v = Cache(row), Cache(row)

    def step(self, x: Token) -> Token:
        return self.read(x[:, None])[:, 0]

    def read(self, x: Tokens) -> Tokens:
        first, added = len(self.k), x.shape[1]
        q, k = self.mixer.queries(x, first), self.k.extend(self.mixer.keys(x, first))
        v = self.v.extend(self.mixer.split(self.mixer.value(x)))
        if first == 0:
            return self.mixer.merged(F.scaled_dot_product_attention(q, k, v, is_causal=True))
        # a token sees all that came before this call, and those of this call up to itself
        allowed = torch.ones(added, first + added, dtype=torch.bool, device=x.device).tril(first)
        return self.mixer.merged(F.scaled_dot_product_attention(q, k, v, attn_mask=allowed))

"""Linear attention: replace the softmax by a kernel that splits into two factors.

Softmax weighs value j for query i by exp(q_i . k_j). Use phi(q_i) . phi(k_j) instead, and the sums
over j no longer depend on i (`kernel.py`):

    y_i = phi(q_i) S / phi(q_i) . z      S = sum_j phi(k_j) v_j^T      z = sum_j phi(k_j)

The layer multiplies in the cheapest order. Values are x W_v and the answer is y W_o, so

    S = (sum_j phi(k_j) x_j^T) W_v      y_i W_o = phi(q_i) / (phi(q_i) . z) (S W_o)

so both projections are applied to S, once per row, instead of to every token: the values and
answers of the heads are never computed, and no tensor is cut into heads.

Paper:  Katharopoulos et al. (2020), https://arxiv.org/abs/2006.16236
Cost:   time O(N d^2), memory O(N d + d^2), per head of size d.
Choice: phi(x) = elu(x) + 1, as in the paper. No dropout: there are no weights to drop.
Choice: rotary positions turn queries and keys before phi, so that the weights stay positive and sum
        to one. (Su et al. turn phi(q) and phi(k), and leave the normaliser as it was.)
"""

from typing import TypeAlias

import torch
import torch.nn.functional as F
from einops import rearrange
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import FunctionCtx

from longarena.attention.cards import CARDS
from longarena.attention.kernels import KernelAttention
from longarena.attention.ops.kernel import KernelPlan, quotient
from longarena.shapes import Mask, Tokens

Features: TypeAlias = Float[Tensor, "batch length features"]


class _PositiveFeatures(torch.autograd.Function):
    """`elu(x) + 1`, and 0 at padding if a mask is given; only the result is kept for the way back.

    The slope is 1 above zero and exp(x) below: the smaller of the result and 1, also at padding.
    """

    @staticmethod
    def forward(ctx: FunctionCtx, x: Tensor, mask: Mask | None) -> Tensor:
        features = F.elu(x).add_(1)
        if mask is not None:
            features.mul_(mask[..., None].to(x.dtype))
        ctx.save_for_backward(features)
        return features

    @staticmethod
    def backward(ctx: FunctionCtx, gradient: Tensor) -> tuple[Tensor, None]:
        (features,) = ctx.saved_tensors  # type: ignore[attr-defined]
        return features.clamp_max(1).mul_(gradient), None


def positive_features(x: Features, mask: Mask | None = None) -> Features:
    """Map to positive numbers, so that the normaliser phi(q) . z cannot vanish or flip sign."""
    features: Tensor = _PositiveFeatures.apply(x, mask)  # type: ignore[no-untyped-call]
    return features


def normalised_queries(q: Features, k: Features, num_heads: int) -> Features:
    """Divide the features of each query, head by head, by their product with all keys."""
    q_heads = rearrange(q, "b n (h d) -> b n h d", h=num_heads)
    total = rearrange(k.sum(dim=1), "b (h d) -> b 1 h d", h=num_heads)
    normaliser = (q_heads * total).sum(dim=-1, keepdim=True)
    return rearrange(quotient(q_heads, normaliser), "b n h d -> b n (h d)")


def projected_state(
    k: Features, x: Tokens, value: Tensor, output: Tensor, num_heads: int
) -> Tensor:
    """Sum keys times tokens over each row, then project by the weights `value` and `output`."""
    state = rearrange(k.mT @ x, "b (h d) w -> b h d w", h=num_heads)
    state = state @ rearrange(value, "(h e) w -> h w e", h=num_heads)
    state = state @ rearrange(output, "w (h e) -> h e w", h=num_heads)
    return rearrange(state, "b h d w -> b (h d) w")


class LinearAttention(KernelAttention):
    """Attention by positive features; it has no parameters beyond the projections."""

    card = CARDS["linear"]
    takes_rotary = True
    is_function = True

    @property
    def num_features(self) -> int:
        return self.place.head_size

    def forward(self, x: Tokens, mask: Mask) -> Tokens:
        if self.place.causal:
            return super().forward(x, mask)
        q, k = self.features(x, mask)
        state = projected_state(k, x, self.value.weight, self.output.weight, self.place.num_heads)
        return normalised_queries(q, k, self.place.num_heads) @ state

    def features(self, x: Tokens, mask: Mask, first: int = 0) -> tuple[Features, Features]:
        """Return the features of queries and keys, with the heads side by side."""
        q, k = self.query(x), self.key(x)
        if self.place.rotary:
            heads = (self.rotated(self.split(t), first) for t in (q, k))
            q, k = (rearrange(t, "b h n d -> b n (h d)") for t in heads)
        # what a padded query would find is never looked at
        return positive_features(q), positive_features(k, mask)

    def plan(self, x: Tokens, mask: Mask, first: int = 0) -> KernelPlan:
        q, k = self.features(x, mask, first)
        return KernelPlan(self.split(q), self.split(k))

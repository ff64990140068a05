"""Linear attention: replace the softmax by a kernel that splits into two factors.

Softmax weighs value j for query i by exp(q_i . k_j). Use phi(q_i) . phi(k_j) instead, and
the sums over j no longer depend on i:

    y_i = phi(q_i) S / phi(q_i) . z      S = sum_j phi(k_j) v_j^T      z = sum_j phi(k_j)

S and z are computed once and serve every query, so the N x N matrix never exists. When later
tokens must not be seen, S and z become running sums, taken chunk by chunk; inside a chunk the
small matrix is written out.

Paper:  Katharopoulos et al. (2020), https://arxiv.org/abs/2006.16236
Cost:   time O(N d^2), memory O(N d + d^2), per head of size d.
Choice: phi(x) = elu(x) + 1, as in the paper. No dropout: there are no weights to drop.
"""

from dataclasses import dataclass

import torch.nn.functional as F
from einops import rearrange
from torch import Tensor

from longarena.attention.base import Attention, MixerCard
from longarena.shapes import Heads, Mask, Tokens, Values

EPSILON = 1e-6
CHUNK = 64


@dataclass(frozen=True)
class LinearPlan:
    """The features of queries and keys; a padded key has none."""

    q: Heads
    k: Heads


def positive_features(x: Tensor) -> Tensor:
    """Map to positive numbers, so that the normaliser phi(q) . z cannot vanish or flip sign."""
    return F.elu(x) + 1


def kernel_attention(q: Heads, k: Heads, v: Values) -> Values:
    """Attend with the features `q` and `k` in linear time.

    >>> import torch
    >>> q = torch.rand(2, 4, 100, 16)
    >>> kernel_attention(q, q, torch.randn(2, 4, 100, 8)).shape
    torch.Size([2, 4, 100, 8])
    """
    state = k.transpose(-1, -2) @ v
    normaliser = q @ k.sum(dim=2)[..., None]
    return (q @ state) / normaliser.clamp_min(EPSILON)


def causal_kernel_attention(q: Heads, k: Heads, v: Values) -> Values:
    """Attend with the features `q` and `k` to no later position, by chunked running sums."""
    length = q.shape[2]
    extra = -length % CHUNK
    q, k, v = (
        rearrange(F.pad(t, (0, 0, 0, extra)), "b h (c n) d -> b h c n d", n=CHUNK)
        for t in (q, k, v)
    )
    v = F.pad(v, (0, 1), value=1.0)  # a column of ones sums the normaliser along with the values

    states = k.transpose(-1, -2) @ v
    before = states.cumsum(dim=2) - states
    within = (q @ k.transpose(-1, -2)).tril() @ v
    y = rearrange(q @ before + within, "b h c n d -> b h (c n) d")[:, :, :length]
    return y[..., :-1] / y[..., -1:].clamp_min(EPSILON)


class LinearAttention(Attention[LinearPlan]):
    """Multi-head `kernel_attention`; it has no parameters beyond the projections."""

    card = MixerCard(
        name="linear",
        title="Linear Transformer",
        family="kernels",
        paper="https://arxiv.org/abs/2006.16236",
        year=2020,
        time="N d^2",
        memory="N d + d^2",
        exponent=1.0,
        decodes=True,
        causal=True,
    )

    def plan(self, x: Tokens, mask: Mask) -> LinearPlan:
        q = positive_features(self.split(self.query(x)))
        k = positive_features(self.split(self.key(x)))
        return LinearPlan(q, k.masked_fill(~mask[:, None, :, None], 0.0))

    def apply(self, plan: LinearPlan, v: Values) -> Values:  # type: ignore[override]
        attend = causal_kernel_attention if self.place.causal else kernel_attention
        return attend(plan.q, plan.k, v)

"""Attention by a kernel that splits into two factors: the sums that make it linear.

If the weight of value j for query i is phi(q_i) . phi(k_j), the sums over j do not depend on i:

    y_i = phi(q_i) S / phi(q_i) . z      S = sum_j phi(k_j) v_j^T      z = sum_j phi(k_j)

S and z are computed once for all queries, so the N x N matrix never exists. When causal, S and z
become running sums over chunks; inside a chunk the small matrix is written out. Each mechanism
defines its own phi.

Cost:   time O(N m d), memory O(N m + m d), per head of size d with m features.
Choice: nothing is added to the normaliser phi(q) . z, since a quotient of two sums of positive
        terms is exact at any scale. It only has a floor, for a row without a real key and for a
        query whose products with all keys are almost zero.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from einops import rearrange
from torch import Tensor

from longarena.shapes import Heads, Values

# the gradient squares the inverse of the normaliser, and the square must fit into 32-bit floats
FLOOR = 1e-18
CHUNK = 64


@dataclass(frozen=True)
class KernelPlan:
    """The features of queries and keys; a padded key has none. A smaller normaliser is `floor`."""

    q: Heads
    k: Heads
    floor: float = FLOOR


def reciprocal(normaliser: Tensor, floor: float = FLOOR) -> Tensor:
    """Invert a positive number; if there was no key at all, the result is large but finite."""
    return normaliser.clamp_min(max(floor, torch.finfo(normaliser.dtype).tiny)).reciprocal()


def kernel_attention(plan: KernelPlan, v: Values) -> Values:
    """Attend from every query to every key in linear time.

    >>> q = torch.rand(2, 4, 100, 16)
    >>> kernel_attention(KernelPlan(q, q), torch.randn(2, 4, 100, 8)).shape
    torch.Size([2, 4, 100, 8])
    """
    state = plan.k.mT @ v
    normaliser = plan.q @ plan.k.sum(dim=2)[..., None]
    return (plan.q @ state) * reciprocal(normaliser, plan.floor)


def causal_kernel_attention(plan: KernelPlan, v: Values) -> Values:
    """Attend to no later position, with running sums over chunks."""
    length = v.shape[2]
    extra = -length % CHUNK
    q, k, v = (
        rearrange(F.pad(t, (0, 0, 0, extra)), "b h (c n) d -> b h c n d", n=CHUNK)
        for t in (plan.q, plan.k, v)
    )
    v = F.pad(v, (0, 1), value=1.0)  # a column of ones sums the normaliser along with the values

    states = k.mT @ v
    before = states.cumsum(dim=2) - states
    within = (q @ k.mT).tril() @ v
    y = rearrange(q @ before + within, "b h c n d -> b h (c n) d")[:, :, :length]
    return y[..., :-1] * reciprocal(y[..., -1:], plan.floor)

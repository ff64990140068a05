"""Attention by a kernel that splits into two factors: the sums that make it linear.

If the weight of value j for query i is phi(q_i) . phi(k_j), the sums over j do not depend on i:

    y_i = phi(q_i) S / phi(q_i) . z      S = sum_j phi(k_j) v_j^T      z = sum_j phi(k_j)

S and z are computed once for all queries, so the N x N matrix never exists. When causal, S and z
are running sums: a scan that forgets nothing (`decay_scan.py`). Each mechanism defines its own phi.

Cost:   time O(N m d), memory O(N m + m d), per head of size d with m features.
Choice: nothing is added to the normaliser phi(q) . z, since a quotient of two sums of positive
        terms is exact at any scale. It only has a floor, for a row without a real key and for a
        query whose products with all keys are almost zero.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import FunctionCtx

from longarena.attention.ops.decay_scan import ScanPlan, decay_scan
from longarena.shapes import Heads, Values

# the gradient is multiplied by the inverse of a normaliser; a fifth of the exponents is left for it
SHARE_OF_EXPONENTS = 0.8

# the sums of weighted values, and in the last column those of the weights
Sums = Float[Tensor, "batch heads length value_size_and_one"]


@dataclass(frozen=True)
class KernelPlan:
    """The features of queries and keys; a padded key has none.

    When causal, the features of earlier keys may shrink from token to token by `decays`, given as
    logarithms. This cancels in the quotient if queries and later keys are scaled to match.
    """

    q: Heads
    k: Heads
    decays: Float[Tensor, "batch heads length 1"] | None = None

    @property
    def scan(self) -> ScanPlan:
        """The running sums as a scan."""
        kept = self.k.new_zeros(1, self.k.shape[1], 1, 1)
        return ScanPlan(self.q, self.k, kept if self.decays is None else self.decays)


def kernel_attention(plan: KernelPlan, v: Values, floor: float = 0.0) -> Values:
    """Attend from every query to every key in linear time; a smaller normaliser is `floor`.

    >>> q = torch.rand(2, 4, 100, 16)
    >>> kernel_attention(KernelPlan(q, q), torch.randn(2, 4, 100, 8)).shape
    torch.Size([2, 4, 100, 8])
    """
    state = plan.k.mT @ v
    normaliser = plan.q @ plan.k.sum(dim=2)[..., None]
    return quotient(plan.q @ state, normaliser, floor)


def causal_kernel_attention(plan: KernelPlan, v: Values, floor: float = 0.0) -> Values:
    """Attend to no later position, with running sums."""
    return normalised(decay_scan(plan.scan, with_ones(v)), floor)


def with_ones(v: Values) -> Sums:
    """Add a column of ones to the values, which sums the normaliser along with them."""
    return F.pad(v, (0, 1), value=1.0)


def normalised(sums: Sums, floor: float = 0.0) -> Values:
    """Divide the sums of weighted values by those of the weights."""
    return quotient(sums[..., :-1], sums[..., -1:], floor)


def quotient(sums: Tensor, normaliser: Tensor, floor: float = 0.0) -> Tensor:
    """Divide the last axis by one number; if there was no key at all, the result is finite."""
    least = torch.finfo(normaliser.dtype).tiny ** SHARE_OF_EXPONENTS
    y: Tensor = _Quotient.apply(  # type: ignore[no-untyped-call]
        sums, normaliser.clamp_min(max(floor, least))
    )
    return y


class _Quotient(torch.autograd.Function):
    """Multiply by the inverse; its square, which could overflow, is in neither gradient."""

    @staticmethod
    def forward(ctx: FunctionCtx, sums: Tensor, normaliser: Tensor) -> Tensor:
        inverse = normaliser.reciprocal()
        y = sums * inverse
        ctx.save_for_backward(y, inverse)
        return y

    @staticmethod
    def backward(ctx: FunctionCtx, gradient: Tensor) -> tuple[Tensor, Tensor]:
        y, inverse = ctx.saved_tensors  # type: ignore[attr-defined]
        along = (gradient * y).sum(dim=-1, keepdim=True)
        return gradient * inverse, along.mul_(inverse).neg_()

"""Project states that are also remembered: y = W x, and W stopgrad(x).

The two are equal, so they are computed once and share memory. Only their gradients differ:

    dx = dy W                     no gradient flows from the memory to the states
    dW = (dy + dy_old)^T x        but the memory trains the projection
"""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from longarena.shapes import Tokens

Projected = Float[Tensor, "batch length out"]


def project_detached(linear: nn.Linear, x: Tokens) -> tuple[Projected, Projected]:
    """Return the projected states twice, the second time without a gradient to the states."""
    y, old = _Project.apply(x, linear.weight)  # type: ignore[no-untyped-call]
    return y, old


class _Project(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tokens, weight: Float[Tensor, "out width"]
    ) -> tuple[Projected, Projected]:
        ctx.save_for_backward(x, weight)
        y = nn.functional.linear(x, weight)
        return y, y.detach()

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any, dy: Projected, dy_old: Projected
    ) -> tuple[Tokens, Float[Tensor, "out width"]]:
        x, weight = ctx.saved_tensors
        # in mixed precision the result may have another type than the input
        dx = dy @ weight.to(dy.dtype)
        d_weight = (dy + dy_old).flatten(0, 1).mT @ x.to(dy.dtype).flatten(0, 1)
        return dx.to(x.dtype), d_weight.to(weight.dtype)

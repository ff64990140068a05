"""Dropout: each number becomes 0 with probability p, and the others are scaled up by 1 / (1 - p).

torch draws its mask on a CPU one number after another, a quarter of the training step of a small
model, and keeps it for the backward pass. Here a number is dropped where 16 bits of a hash of the
seed and its position are below p x 2^16 (`dropout_kernel.py`). One pass draws and drops, the
backward pass hashes again, and nothing is kept but the seed.

Paper:  Srivastava et al. (2014), https://jmlr.org/papers/v15/srivastava14a.html
Choice: the seed is drawn from torch's global generator, so whoever restores its state gets the same
        draws. p is rounded to a multiple of 2^-16 and the scale follows it.
Choice: other devices and compiled models use torch's own dropout, which is one kernel there.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import FunctionCtx, once_differentiable

LEVELS = 1 << 16


@dataclass(frozen=True)
class Draws:
    """Which numbers are dropped: those whose hash is below `threshold`."""

    seed: int
    threshold: int

    @staticmethod
    def new(p: float) -> "Draws":
        """Draw a seed from torch's global generator; even a p next to 1 never drops everything."""
        seed = int(torch.empty((), dtype=torch.int64).random_())
        return Draws(seed, min(round(p * LEVELS), LEVELS - 1))

    def drop(self, x: Tensor) -> Tensor:
        """Drop some of the numbers and scale the others."""
        # not at the top, so that only those who train with dropout wait for numba
        from longarena.model.dropout_kernel import drop  # noqa: PLC0415

        # numba knows no half precision
        numbers = x.detach().to(torch.promote_types(x.dtype, torch.float32)).contiguous()
        dropped = torch.empty_like(numbers)
        scale = LEVELS / (LEVELS - self.threshold)
        drop(numbers.view(-1).numpy(), dropped.view(-1).numpy(), self.seed, self.threshold, scale)
        return dropped.to(x.dtype)


class _Drop(torch.autograd.Function):
    @staticmethod
    def forward(ctx: FunctionCtx, x: Tensor, draws: Draws) -> Tensor:
        ctx.draws = draws  # type: ignore[attr-defined]
        return draws.drop(x)

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, gradient: Tensor) -> tuple[Tensor, None]:
        return ctx.draws.drop(gradient), None  # type: ignore[attr-defined]


class Dropout(nn.Module):
    """Drops with probability `p` while training."""

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.p == 0:
            return x
        if x.device.type != "cpu" or torch.compiler.is_compiling():
            return F.dropout(x, self.p)
        dropped: Tensor = _Drop.apply(x, Draws.new(self.p))  # type: ignore[no-untyped-call]
        return dropped

    def extra_repr(self) -> str:
        """Show the probability where a model is printed."""
        return f"p={self.p}"

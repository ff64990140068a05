"""Dropout: each number becomes 0 with probability p, and the others are scaled up by 1 / (1 - p).

torch draws a random number for each of them, which on a CPU takes a quarter of the training step of
a small model. Here 64 random bits serve four: a number is dropped where its 16 bits are below
p x 2^16.

Paper:  Srivastava et al. (2014), https://jmlr.org/papers/v15/srivastava14a.html
Choice: p is rounded to a multiple of 2^-16, and the scale is that of the rounded p, so the mean
        stays what it was. Eight bits would be coarse (0.1 would become 0.1016) and save 2 % of the
        step of a small model.
Choice: the bits come from NumPy's SFC64, which is twice as fast as torch's generator and is seeded
        by it, so whoever restores torch's random state gets the same draws.
Choice: a byte per number is kept for the backward pass; torch keeps a float.
Choice: other devices and compiled models use torch's own dropout, which is one kernel there.
"""

import math

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import UInt8
from torch import Tensor, nn
from torch.autograd.function import FunctionCtx

LEVELS = 1 << 16
PER_WORD = 4


class Dropout(nn.Module):
    """Drops with probability `p` while training; torch's global generator decides what."""

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.p == 0:
            return x
        if x.device.type != "cpu" or torch.compiler.is_compiling():
            return F.dropout(x, self.p)
        num_kept = LEVELS - num_dropped_levels(self.p)
        kept = draw(x.shape, num_kept)
        dropped: Tensor = _Masked.apply(x, kept, LEVELS / num_kept)  # type: ignore[no-untyped-call]
        return dropped

    def extra_repr(self) -> str:
        """Show the probability where a model is printed."""
        return f"p={self.p}"


def num_dropped_levels(p: float) -> int:
    """Return how many of the 2^16 values of 16 bits mean that a number is dropped, never all.

    >>> num_dropped_levels(0.5), num_dropped_levels(0.1), num_dropped_levels(0.9999999)
    (32768, 6554, 65535)
    """
    return min(round(p * LEVELS), LEVELS - 1)


def draw(shape: torch.Size, num_levels: int) -> UInt8[Tensor, "..."]:
    """Draw a mask that is 1 with probability `num_levels` / 2^16, else 0."""
    size = math.prod(shape)
    seed = int(torch.empty((), dtype=torch.int64).random_())
    bits = np.random.SFC64(seed).random_raw(-(-size // PER_WORD)).view(np.uint16)[:size]
    return torch.from_numpy((bits < num_levels).view(np.uint8)).view(shape)


class _Masked(torch.autograd.Function):
    """Keep some numbers and scale them; only the mask is kept for the backward pass."""

    @staticmethod
    def forward(ctx: FunctionCtx, x: Tensor, kept: Tensor, scale: float) -> Tensor:
        ctx.save_for_backward(kept)
        ctx.scale = scale  # type: ignore[attr-defined]
        return _masked(x, kept, scale)

    @staticmethod
    def backward(ctx: FunctionCtx, gradient: Tensor) -> tuple[Tensor, None, None]:
        (kept,) = ctx.saved_tensors  # type: ignore[attr-defined]
        return _masked(gradient, kept, ctx.scale), None, None  # type: ignore[attr-defined]


def _masked(x: Tensor, kept: Tensor, scale: float) -> Tensor:
    # converted first: a product of two types is slower
    return kept.to(x.dtype).mul_(scale).mul_(x)

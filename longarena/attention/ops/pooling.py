"""Pooling along a sequence: every `stride`-th position stands for the `kernel` positions around it.

    mean      the mean of the real positions
    max       their maximum, channel by channel
    ldconv    their sum, weighted by softmax(W x_centre): a lightweight dynamic convolution; each
              head predicts its weights from the token in the middle

Windows follow absolute positions and padded tokens are left out, so that a row is pooled alike in
any batch. With an even kernel the middle has one more position before it than after it.

Paper:  mean and max are common; ldconv is Zhang et al. (2021), https://arxiv.org/abs/2105.04371
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from einops import einsum
from jaxtyping import Bool, Float, Shaped
from torch import Tensor, nn

from longarena.attention.ops.convolution import Convolving
from longarena.shapes import Heads, Mask

Pooled = Float[Tensor, "batch heads slots size"]


@dataclass(frozen=True)
class Grid:
    """Which positions are pooled into which slot."""

    kernel: int
    stride: int

    def windows(
        self, x: Shaped[Tensor, "batch heads length size"]
    ) -> Shaped[Tensor, "batch heads slots size kernel"]:
        """Return the positions around every slot, as a view; outside are zeros.

        >>> Grid(kernel=3, stride=2).windows(torch.arange(1.0, 5).view(1, 1, 4, 1)).tolist()
        [[[[[0.0, 1.0, 2.0]], [[2.0, 3.0, 4.0]]]]]
        """
        before = self.kernel // 2
        num_slots = -(-x.shape[2] // self.stride)
        after = (num_slots - 1) * self.stride + self.kernel - before - x.shape[2]
        return F.pad(x, (0, 0, before, after)).unfold(2, self.kernel, self.stride)

    def real_in_windows(self, mask: Mask) -> Bool[Tensor, "batch 1 slots 1 kernel"]:
        """Tell which positions around every slot are real tokens."""
        return self.windows(mask[:, None, :, None].to(torch.uint8)).bool()

    def real(self, mask: Mask) -> Bool[Tensor, "batch slots"]:
        """Tell which slots exist: those whose own token is real."""
        return mask[:, :: self.stride]


class Mean(nn.Module):
    """The mean of the real positions of each window."""

    def __init__(self, grid: Grid, num_heads: int, head_size: int) -> None:
        super().__init__()
        self.grid = grid

    def forward(self, x: Heads, mask: Mask) -> Pooled:
        count = self.grid.real_in_windows(mask).sum(dim=-1).clamp_min(1)
        real = x.masked_fill(~mask[:, None, :, None], 0.0)
        return self.grid.windows(real).sum(dim=-1) / count


class Max(nn.Module):
    """The maximum of the real positions of each window."""

    def __init__(self, grid: Grid, num_heads: int, head_size: int) -> None:
        super().__init__()
        self.grid = grid

    def forward(self, x: Heads, mask: Mask) -> Pooled:
        real = self.grid.real_in_windows(mask)
        windows = self.grid.windows(x).masked_fill(~real, -math.inf)
        return windows.amax(dim=-1).masked_fill(~real.any(dim=-1), 0.0)


class DynamicConvolution(Convolving):
    """A weighted sum of each window; its middle predicts the weights."""

    def __init__(self, grid: Grid, num_heads: int, head_size: int) -> None:
        super().__init__()
        self.grid = grid
        weight = torch.empty(num_heads, head_size, grid.kernel)
        self.weight = nn.Parameter(nn.init.normal_(weight, std=head_size**-0.5))

    def forward(self, x: Heads, mask: Mask) -> Pooled:
        logits = x[:, :, :: self.grid.stride] @ self.weight
        real = self.grid.real_in_windows(mask)[:, :, :, 0]
        real = real | ~real.any(dim=-1, keepdim=True)  # a softmax over nothing is not a number
        weights = logits.masked_fill(~real, -math.inf).softmax(dim=-1)
        windows = self.grid.windows(x.masked_fill(~mask[:, None, :, None], 0.0))
        return einsum(windows, weights, "b h t d k, b h t k -> b h t d")


POOLS: dict[str, Callable[[Grid, int, int], nn.Module]] = {
    "mean": Mean,
    "max": Max,
    "ldconv": DynamicConvolution,
}

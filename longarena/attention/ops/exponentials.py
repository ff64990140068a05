"""Sums of exponentials at every position: the kernels of diagonal state spaces.

    K_l = 2 Re sum_n w_n exp(a_n l)          l = 0 .. N-1

The N x P matrix of the exponentials would need N P numbers for every channel. Instead a position is
l = s c + r, the c positions of a stretch share their start, and

    K_(s c + r) = 2 Re sum_n [w_n exp(a_n s c)] exp(a_n r)

is a product of two small matrices, N/c x P and P x c, with c about sqrt(N).

Paper:  Gu et al. (2022), https://arxiv.org/abs/2206.11893, section 3.3 (a Vandermonde product).
Cost:   time O(N P), memory O(N + sqrt(N) P), per channel.
Choice: exponentials are computed in double precision and rounded afterwards. Far positions have
        turned thousands of times, and single precision would lose their phase.
"""

import math
from typing import TypeAlias

import torch
from einops import rearrange
from jaxtyping import Complex, Float
from torch import Tensor

# one of a pair of conjugates: the other adds the same real part
Exponents: TypeAlias = Complex[Tensor, "width pairs"]
Weights: TypeAlias = Complex[Tensor, "directions width pairs"]


def sum_exponentials(
    weights: Weights, exponents: Exponents, length: int, dtype: torch.dtype
) -> Float[Tensor, "directions width {length}"]:
    """Add up the exponentials and their conjugates, at every position below `length`."""
    stretch = math.isqrt(length - 1) + 1
    positions = torch.arange(stretch, dtype=torch.float64, device=exponents.device)
    starts = positions[: -(-length // stretch)] * stretch
    # Re(u v) is the dot product of u and the conjugate of v, both read as pairs of real numbers
    near = _exponentials(exponents.conj(), positions)
    far = 2 * weights[:, :, None] * _exponentials(exponents, starts)
    near, far = (torch.view_as_real(t).flatten(-2).to(dtype) for t in (near, far))
    with torch.autocast(near.device.type, enabled=False):
        sums = torch.einsum("hdsp,drp->hdsr", far, near)
    return rearrange(sums, "h d s r -> h d (s r)")[..., :length]


def _exponentials(
    exponents: Exponents, positions: Float[Tensor, " positions"]
) -> Complex[Tensor, "width positions pairs"]:
    return torch.exp(exponents[:, None] * positions[:, None])

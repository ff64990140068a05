"""Sums of exponentials at every position: the kernels of diagonal state spaces.

    K_l = 2 Re sum_n w_n exp(a_n l)          l = 0 .. N-1

The N x P matrix of the exponentials would need N P numbers for every channel. Instead a position is
l = s c + r, the c positions of a stretch share their start, and

    K_(s c + r) = 2 Re sum_n [w_n exp(a_n s c)] exp(a_n r)

is a product of two small matrices, N/c x P and P x c, with c about sqrt(N).

Paper:  Gu et al. (2022), https://arxiv.org/abs/2206.11893, section 3.3 (a Vandermonde product).
Cost:   time O(N P), memory O(N + sqrt(N) P), per channel.
Choice: a table of powers grows by doubling, from a few exponentials in double precision. Far
        positions have turned thousands of times, and single precision would lose their phase.
"""

import math
from typing import TypeAlias

import torch
from einops import rearrange
from jaxtyping import Complex, Float, Num
from torch import Tensor

# one of a pair of conjugates: the other adds the same real part
Exponents: TypeAlias = Complex[Tensor, "width pairs"]
Weights: TypeAlias = Complex[Tensor, "directions width pairs"]


def sum_exponentials(
    weights: Weights, exponents: Exponents, length: int
) -> Float[Tensor, "directions width {length}"]:
    """Add up the exponentials and their conjugates, at every position below `length`.

    The exponents are of double precision, the sums of that of the weights.
    """
    stretch = math.isqrt(length - 1) + 1
    # Re(u v) is the dot product of u and the conjugate of v, both read as pairs of real numbers
    near = powers(exponents.conj(), stretch, weights.dtype)
    starts = powers(stretch * exponents, -(-length // stretch), weights.dtype)
    far = 2 * weights[:, :, None] * starts
    near, far = (torch.view_as_real(t).flatten(-2) for t in (near, far))
    with torch.autocast(near.device.type, enabled=False):
        sums = torch.einsum("hdsp,drp->hdsr", far, near)
    return rearrange(sums, "h d s r -> h d (s r)")[..., :length]


def powers(
    exponents: Num[Tensor, "width states"], count: int, dtype: torch.dtype
) -> Num[Tensor, "width {count} states"]:
    """Return exp(0), exp(a), exp(2 a) and so on."""
    found = torch.ones_like(exponents[:, None], dtype=dtype)
    while (known := found.shape[1]) < count:
        factor = torch.exp(known * exponents).to(dtype)
        found = torch.cat([found, found[:, : count - known] * factor[:, None]], dim=1)
    return found

"""Long convolution: kernels as long as the sequence, applied by Fourier transforms.

    y_i = sum_(j <= i) f_(i-j) x_j  +  sum_(j > i) b_(j-i-1) x_j

f looks back and contains the present token; b looks ahead and begins at the next one. A transform
of M >= 2 N - 1 points convolves in a circle, so f stands at the beginning of the circle and b,
reversed, at its end: both directions are one kernel and one product of spectra.

    y = inverse(transform(x) transform([f_0 .. f_(N-1), 0 .., b_(N-2) .. b_0]))

Paper:  Gu et al. (2022), https://arxiv.org/abs/2111.00396; the two directions as in the authors'
        code (state-spaces/s4, src/models/sequence/kernels/fftconv.py).
Cost:   time O(N log N) per channel, memory O(N).
Choice: the rounding of a token reaches all others, so what must not know of a later token is
        convolved otherwise (`causal_convolution.py`).
Choice: half precision is transformed in single precision.
Choice: a backward pass of its own; torch's takes complex transforms where real ones do. Measured on
        one core for four rows of 4,096 tokens and 256 channels, forward and backward: 459 ms,
        against 596 ms.
Choice: the answer is laid out as tokens are, at the price of a copy: in what follows, elements of
        two layouts would meet. So S4D takes 0.8 of the time for the same rows, `long-conv` 0.7.
"""

from typing import Any, TypeAlias

import torch
from einops import rearrange
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from longarena.shapes import Tokens

# the kernel that looks back and, unless it is causal, the one that looks ahead
Kernels: TypeAlias = Float[Tensor, "directions width length"]
Channels: TypeAlias = Float[Tensor, "batch width length"]
Circle: TypeAlias = Float[Tensor, "width points"]

ODD_FACTORS: list[int] = [3**i * 5**j for i in range(5) for j in range(4)]


# complex numbers cannot be compiled, and the points of every length would need a graph of their own
@torch.compiler.disable  # type: ignore[untyped-decorator]
def fft_convolve(x: Tokens, kernels: Kernels) -> Tokens:
    """Convolve every channel with its kernels; beyond the ends are zeros."""
    circle = wrap(kernels, fast_length(2 * x.shape[1] - 1))
    channels = rearrange(x.to(kernels.dtype), "b n d -> b d n")
    y: Tensor = _Convolve.apply(channels, circle)  # type: ignore[no-untyped-call]
    return rearrange(y, "b d n -> b n d").contiguous()


def fast_length(least: int) -> int:
    """Return an even number, little above `least`, that transforms fast: of factors 2, 3 and 5.

    >>> [fast_length(n) for n in (1, 61, 2047, 2049)]
    [2, 64, 2048, 2160]
    """
    powers = ((odd, (-(-least // odd) - 1).bit_length()) for odd in ODD_FACTORS)
    return min(odd << max(1, power) for odd, power in powers)


def wrap(kernels: Kernels, points: int) -> Circle:
    """Put what looks back at the beginning of a circle, and what looks ahead at its end.

    >>> wrap(torch.tensor([[[1.0, 2.0, 3.0]], [[4.0, 5.0, 6.0]]]), 6).tolist()
    [[1.0, 2.0, 3.0, 0.0, 5.0, 4.0]]
    """
    width, length = kernels.shape[1:]
    # the last weight would reach beyond a sequence of this length
    back, ahead = kernels[0], kernels[1, :, : length - 1].flip(-1)
    return torch.cat([back, kernels.new_zeros(width, points - 2 * length + 1), ahead], dim=-1)


class _Convolve(torch.autograd.Function):
    """Convolve in a circle; transforms are real in the backward pass, too."""

    @staticmethod
    def forward(ctx: Any, x: Channels, circle: Circle) -> Channels:
        points = circle.shape[-1]
        spectrum, response = torch.fft.rfft(x, n=points), torch.fft.rfft(circle)
        ctx.save_for_backward(spectrum, response)
        ctx.points = points
        y: Tensor = torch.fft.irfft(spectrum * response, n=points)
        return y[..., : x.shape[-1]]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: Channels) -> tuple[Channels, Circle]:
        spectrum, response = ctx.saved_tensors
        gradient = torch.fft.rfft(dy, n=ctx.points)
        d_circle = torch.fft.irfft((gradient * spectrum.conj()).sum(0), n=ctx.points)
        dx = torch.fft.irfft(gradient * response.conj(), n=ctx.points)
        return dx[..., : dy.shape[-1]], d_circle

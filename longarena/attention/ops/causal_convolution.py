"""Long convolution that looks back only, and in which no rounding of a later token shows.

    y_i = sum_(j <= i) k_(i-j) x_j

A Fourier transform of the whole row spreads the rounding of every token over all others, so that an
earlier answer would move, if only in its last digits, with a later token. Here the row is cut into
blocks. Inside a block the weights are written out as a matrix. Groups of `GROUP` blocks are then
blocks of the next size, until one group is the row; what a block gives to the later ones of its
group is found by transforms of that block alone:

    spectrum of y_b = sum over lags l >= 1 of spectrum(x_(b-l)) spectrum(k from l-1 to l+1 blocks)

As what a token gives depends on the distance only, the gradient of x is the same convolution of the
reversed row. The gradient of k, which no token waits for, takes one transform.

Cost:   time O(N log^2 N) per channel, memory O(N).
Choice: a few channels at a time, which stay in the cache. Measured with one thread in processor
        time, forward and backward: 452 ms for four rows of 4,096 tokens and 256 channels, against
        287 ms by transforms of the row; 149 ms for one row of 16,384 tokens and 64 channels,
        against 55 ms.
"""

from typing import Any, TypeAlias

import torch
import torch.nn.functional as F
from einops import rearrange
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from longarena.attention.ops.diagonal_scan import toeplitz
from longarena.attention.ops.fft_convolution import Channels, fast_length
from longarena.shapes import Tokens

BLOCK, GROUP = 64, 16
# how many numbers of a row are convolved at a time
NUMBERS = 1 << 18

Kernel: TypeAlias = Float[Tensor, "width length"]


# complex numbers cannot be compiled
@torch.compiler.disable  # type: ignore[untyped-decorator]
def causal_convolve(x: Tokens, kernel: Kernel) -> Tokens:
    """Convolve every channel with its kernel; half precision is convolved in single precision."""
    channels = rearrange(x.to(kernel.dtype), "b n d -> b d n")
    y: Tensor = _Convolve.apply(channels, kernel)  # type: ignore[no-untyped-call]
    return rearrange(y, "b d n -> b n d")


class _Convolve(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Channels, kernel: Kernel) -> Channels:
        ctx.save_for_backward(x, kernel)
        return _in_parts(x, kernel)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: Channels) -> tuple[Channels, Kernel]:
        x, kernel = ctx.saved_tensors
        size = _channels_at_a_time(x)
        parts = zip(torch.split(dy, size, dim=1), torch.split(x, size, dim=1), strict=True)
        dkernel = torch.cat([_correlate(*part) for part in parts])
        return _in_parts(dy.flip(-1), kernel).flip(-1), dkernel


def _channels_at_a_time(x: Channels) -> int:
    return max(1, NUMBERS // (len(x) * x.shape[-1]))


def _in_parts(x: Channels, kernel: Kernel) -> Channels:
    size = _channels_at_a_time(x)
    parts = zip(torch.split(x, size, dim=1), torch.split(kernel, size), strict=True)
    return torch.cat([_convolve(*part) for part in parts], dim=1)


def _correlate(dy: Channels, x: Channels) -> Kernel:
    """Sum over the tokens what each gave at every distance, by one transform of the row."""
    length = x.shape[-1]
    points = fast_length(2 * length - 1)
    spectra = torch.fft.rfft(dy, n=points) * torch.fft.rfft(x, n=points).conj()
    given: Tensor = torch.fft.irfft(spectra.sum(0), n=points)
    return given[..., :length]


def _convolve(x: Channels, kernel: Kernel) -> Channels:
    """Add up what every token receives inside its block, and then inside larger and larger ones."""
    length = x.shape[-1]
    size = min(BLOCK, length)
    x, kernel = (F.pad(t, (0, -length % size)) for t in (x, kernel))
    blocks = rearrange(x, "b d (k s) -> b d k s", s=size)
    y: Tensor = (blocks @ toeplitz(kernel[:, :size]).mT).flatten(-2)
    while size < length:
        count = min(GROUP, -(-x.shape[-1] // size))
        y += _from_earlier_blocks(x, kernel, size, count)
        size *= count
    return y[..., :length]


def _from_earlier_blocks(x: Channels, kernel: Kernel, size: int, count: int) -> Channels:
    """Find what every token receives from the earlier blocks of its group of `count`."""
    length, points = x.shape[-1], 2 * size
    padded = F.pad(x, (0, -length % (size * count)))
    groups = rearrange(padded, "b d (g k s) -> b d g k s", k=count, s=size)
    reach = F.pad(kernel, (0, max(0, size * count - length)))[:, : size * count]
    given = torch.fft.rfft(groups[..., :-1, :], n=points)
    # a block and the one after it hold all weights of the distances between two blocks
    weights = torch.fft.rfft(reach.unfold(-1, points, size))[:, None]
    received = given * weights[..., :1, :]
    for lag in range(1, count - 1):
        received[..., lag:, :].addcmul_(given[..., :-lag, :], weights[..., lag, None, :])
    # the first half is that of the giving block itself, wound around the circle
    later = torch.fft.irfft(received, n=points)[..., size:]
    return F.pad(later, (0, 0, 1, 0)).flatten(-3)[..., :length]

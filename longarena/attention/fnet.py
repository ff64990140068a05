"""FNet: no attention and nothing to learn, only a Fourier transform of the tokens.

    y = Re(F_n x F_D)      F_n[k, j] = exp(-2 pi i k j / n)

x holds the n real tokens of a row, D channels each, so every number of y is a sum over all tokens
and channels. Padding is not transformed: n is a row's own length, and rows of different lengths
stand in one batch. Since 2 k j = k^2 + j^2 - (k - j)^2, a transform of n points is a convolution
between two products (Bluestein), and a convolution has the same points for every row:

    z = x F_D      (F_n z)_k = w_k sum_j conj(w_(k-j)) w_j z_j      w_k = exp(-pi i k^2 / n)

z of a real x is symmetric. Half of its channels are enough, and the others are read backwards:

    y[k, D - l] = y[(n - k) mod n, l]

Paper:  Lee-Thorp et al. (2021), https://arxiv.org/abs/2105.03824
Cost:   time O(N (log N + log D)) per channel, memory O(N D).
Choice: the transform is not scaled, as in the authors' code (google-research/f_net). With n tokens
        of D channels, y is sqrt(n D) times as large as x.
Choice: the authors' code transforms the padding, too.
Choice: k^2 is reduced modulo 2 n in whole numbers; in single precision the angles of late positions
        would be noise.
Choice: half precision is transformed in single precision.
Choice: a batch without padding takes the plain transform, but only on a CPU: a GPU would have to
        wait until the mask is read.
"""

import math

import torch
from einops import rearrange
from jaxtyping import Complex, Int
from torch import Tensor

from longarena.attention.base import Mixer
from longarena.attention.cards import CARDS
from longarena.attention.ops.fft_convolution import fast_length
from longarena.shapes import Mask, Tokens


class FNet(Mixer):
    """The real part of the transform over tokens and channels; it has no parameters."""

    card = CARDS["fnet"]

    def forward(self, x: Tokens, mask: Mask) -> Tokens:
        y: Tensor = fourier_transform(x, mask)
        return y


# complex numbers cannot be compiled
@torch.compiler.disable  # type: ignore[untyped-decorator]
def fourier_transform(x: Tokens, mask: Mask) -> Tokens:
    """Return the real part of the transform of every row's real tokens and their channels."""
    x = x.to(torch.promote_types(x.dtype, torch.float32))
    if is_known_to_be_full(mask):
        plain: Tensor = torch.fft.fft2(x).real
        return plain
    width = x.shape[-1]
    lengths = mask.sum(dim=1, keepdim=True).clamp_min(1)
    spectrum = torch.fft.rfft(x.masked_fill(~mask[..., None], 0.0))
    rows = transform_rows(rearrange(spectrum, "b n c -> b c n"), lengths)
    half = rearrange(rows.real, "b c n -> b n c")
    mirrored = backwards(half[..., 1 : width - half.shape[-1] + 1], lengths)
    return torch.cat([half, mirrored.flip(-1)], dim=-1)


def is_known_to_be_full(mask: Mask) -> bool:
    """Tell whether no row has padding, where that can be read at no price."""
    return mask.device.type == "cpu" and bool(mask.all())


def transform_rows(
    z: Complex[Tensor, "batch channels length"], lengths: Int[Tensor, "batch 1"]
) -> Complex[Tensor, "batch channels length"]:
    """Transform the first numbers of each row, as many as its length; the others are zero."""
    length = z.shape[-1]
    points = fast_length(2 * length - 1)
    around = torch.arange(points, device=z.device)
    distances = torch.minimum(around, points - around)
    waves = chirp(distances, lengths, z.real.dtype)[:, None]
    wave = waves[..., :length]
    mixed = torch.fft.fft(z * wave, n=points) * torch.fft.fft(waves.conj())
    convolved: Tensor = torch.fft.ifft(mixed)
    return convolved[..., :length] * wave


def chirp(
    positions: Int[Tensor, " points"], lengths: Int[Tensor, "batch 1"], dtype: torch.dtype
) -> Complex[Tensor, "batch points"]:
    """Return exp(-pi i k^2 / n) for every position k and length n."""
    turns = (positions.square() % (2 * lengths)).to(dtype) / lengths
    return torch.polar(torch.ones_like(turns), -math.pi * turns)


def backwards(y: Tokens, lengths: Int[Tensor, "batch 1"]) -> Tokens:
    """Read the tokens of each row backwards around its circle: 0, n - 1, n - 2, ..."""
    batch, length, _ = y.shape
    source = -torch.arange(length, device=y.device) % lengths
    starts = length * torch.arange(batch, device=y.device)[:, None]
    rows = y.flatten(0, 1).index_select(0, (starts + source).flatten())
    return rearrange(rows, "(b n) c -> b n c", b=batch)

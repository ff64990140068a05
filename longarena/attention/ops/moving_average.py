"""A damped exponential moving average: every channel is smoothed at several rates at once.

    h_t = p beta x_t + q h_(t-1)        y_t = gamma . h_t / sqrt(n)        n states for a channel
    p = sigmoid(delta)                  q = 1 - p sigmoid(alpha)

When causal it is computed from chunk to chunk (`diagonal_scan.py`). In both directions it is a
convolution with kernels as long as the sequence (`fft_convolution.py`):

    k_l = sum over n of (gamma beta p / sqrt(n)) q^l

Paper:  Ma et al. (2022), https://arxiv.org/abs/2209.10655 (section 3.1; MultiHeadEMA of its code)
Cost:   time O(D N (n + log N)), memory O(D (N + n sqrt(N))); when causal O(D N (c + n)) in chunks
        of c, and O(D N (1 + n / c)).
Choice: names and directions are those of the authors' release for the arena (commit 09f1a87): p is
        made of delta, and both directions contain the token itself. A later commit (06f2d0e)
        exchanges delta and alpha, and begins the direction from the end at the next token.
"""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from longarena.attention.ops.convolution import Convolving
from longarena.attention.ops.decoder import Decoder, Finished
from longarena.attention.ops.diagonal_scan import DiagonalDecoder, Modes, diagonal_scan
from longarena.attention.ops.fft_convolution import Kernels, fft_convolve
from longarena.shapes import Mask, Tokens


class MovingAverage(Convolving):
    """Smooth every channel, forward in time, and from the end too unless it is `causal`."""

    def __init__(self, width: int, states: int, causal: bool) -> None:
        super().__init__()
        self.causal = causal
        channels = width if causal else 2 * width
        self.delta, self.alpha = (
            nn.Parameter(0.2 * torch.randn(channels, states, 1)) for _ in range(2)
        )
        # alternating signs, so that the states of a channel begin apart
        signs = 1 - 2 * (torch.arange(states) % 2)[:, None]
        self.beta = nn.Parameter(signs + 0.02 * torch.randn(channels, states, 1))
        self.gamma = nn.Parameter(torch.randn(channels, states))
        self.omega = nn.Parameter(torch.randn(width))

    def forward(self, x: Tokens, mask: Mask) -> Tokens:
        real = x.masked_fill(~mask[..., None], 0.0)
        if self.causal:
            return self.bent(diagonal_scan(real, self.modes())[0], x)
        return self.bent(fft_convolve(real, self.kernels(x.shape[1])), x)

    def decoder(self, batch: int) -> Decoder:
        """Begin to smooth token by token; only what looks back can."""
        return Finished(DiagonalDecoder(self.modes(), batch), self.bent)

    def bent(self, y: Tensor, x: Tensor) -> Tensor:
        """Add the token itself to its average, and bend the sum."""
        return F.silu(y + self.omega * x)

    def kernels(self, length: int) -> Kernels:
        """Compute what a token gives to itself and to each of the tokens after or before it."""
        back, ahead = self.responses(length).chunk(2)
        # what looks ahead begins at the next token, so what a token gives itself goes with the rest
        here = F.pad(ahead[:, :1], (0, length - 1))
        return torch.stack([back + here, F.pad(ahead[:, 1:], (0, 1))])

    def responses(self, length: int) -> Float[Tensor, "channels {length}"]:
        """Compute how every channel fades after a single token."""
        return sum_powers(*self.fading(), length)

    def modes(self) -> Modes:
        """Return the states of the average forward in time."""
        weights, logs = self.fading()
        return Modes(weights, logs.double())

    def fading(self) -> tuple[Float[Tensor, "channels states"], Float[Tensor, "channels states"]]:
        """Return what every state weighs in the answer, and the logarithm of what it keeps."""
        p = self.delta.sigmoid()
        # in single precision a product may be 1, and the logarithm of nothing has no gradient
        lost = (p * self.alpha.sigmoid()).clamp(max=1 - torch.finfo(p.dtype).eps)
        weights = (p * self.beta)[..., 0] * self.gamma / math.sqrt(self.gamma.shape[1])
        return weights, torch.log1p(-lost)[..., 0]


def sum_powers(
    weights: Float[Tensor, "channels states"], logs: Float[Tensor, "channels states"], length: int
) -> Float[Tensor, "channels {length}"]:
    """Return sum_n w_n exp(log_n l) at every l below `length`.

    As in `exponentials.py` a position is l = s c + r, and a power the product of two.
    """
    stretch = math.isqrt(length - 1) + 1
    steps = torch.arange(stretch, device=logs.device, dtype=logs.dtype)
    near = (logs[..., None] * steps).exp()
    far = weights[..., None] * (logs[..., None] * stretch * steps).exp()
    with torch.autocast(logs.device.type, enabled=False):
        return (far.mT @ near).flatten(1)[:, :length]

"""Convolution: a token sees only its neighbours, each channel through a kernel of its own.

    g   = (W_v x) sigmoid(W_g x)                    a gated linear unit
    y_i = W_out sum_k w_k g_(i + k - K // 2)        w: K weights per channel

What it cannot see at all is known exactly: `depth` layers reach depth (K - 1) / 2 tokens to either
side, a receptive field of depth (K - 1) + 1. So its score over the width of the kernel says which
range a task needs.

Paper:  Tay et al. (2021), https://arxiv.org/abs/2105.03322: attention of a Transformer replaced by
        a gated linear unit, a convolution and an output map. Kernels of 5 and 61 tokens in the
        arena: Miralles-Gonzalez et al. (2025), https://arxiv.org/abs/2501.14850
Cost:   time O(N K d + N d^2), memory O(N d).
Choice: the paper's depth-wise convolution, with weights of any sign. Its lightweight and dynamic
        ones, which average, are in `lite_transformer.py`.
Choice: 31 tokens by default, the widest kernel of Wu et al. (2019), https://arxiv.org/abs/1901.10430,
        on whose convolutions the paper builds. Kernels start as torch's do, uniform up to
        1 / sqrt(K).
Choice: no positions are added to the tokens. The paper says that convolutions need none, and with
        them a token would know of its place in the whole sequence.
Choice: when causal, a kernel ends at its own token. Padding is zero, and so is everything beyond
        the ends of a sequence.
Choice: everything here counts as convolution, the linear maps too.
"""

import math

import torch
import torch.nn.functional as F
from pydantic import field_validator
from torch import Tensor, nn

from longarena.attention.base import Mixer, Place
from longarena.attention.cards import CARDS
from longarena.attention.ops.convolution import Convolving, centred
from longarena.attention.ops.decoder import Decoder, Token
from longarena.attention.ops.depthwise_convolution import depthwise_convolve
from longarena.attention.ops.projection import projection
from longarena.options import Options
from longarena.shapes import Mask, Tokens


class ConvolutionOptions(Options):
    """A token sees `kernel` tokens: itself and as many on either side; when causal, before it."""

    kernel: int = 31

    @field_validator("kernel")
    @classmethod
    def _has_a_centre(cls, kernel: int) -> int:
        return centred(kernel)


class Convolution(Mixer, Convolving):
    """A gated linear unit, a depth-wise convolution, a linear map."""

    card = CARDS["convolution"]
    options_type = ConvolutionOptions
    has_own_positions = True

    def __init__(
        self, place: Place, options: ConvolutionOptions, previous: Mixer | None = None
    ) -> None:
        super().__init__(place, options, previous)
        self.input = projection(place.width, 2 * place.width)
        bound = 1 / math.sqrt(options.kernel)
        start = torch.empty(place.width, options.kernel).uniform_(-bound, bound)
        self.kernel = nn.Parameter(start)
        self.output = projection(place.width, place.width)

    def forward(self, x: Tokens, mask: Mask) -> Tokens:
        gated = self.gated(x).masked_fill(~mask[..., None], 0.0)
        y: Tensor = self.output(depthwise_convolve(gated, self.kernel, self.place.causal))
        return y

    def gated(self, x: Tensor) -> Tensor:
        """Return what is convolved: half of a projection, gated by the other half."""
        return F.glu(self.input(x), dim=-1)

    def decoder(self, batch: int) -> Decoder:
        return ConvolutionDecoder(self, batch)


class ConvolutionDecoder(Decoder):
    """Keep the gated tokens that the kernel of the next one still sees."""

    def __init__(self, mixer: Convolution, batch: int) -> None:
        self.mixer = mixer
        width, size = mixer.kernel.shape
        self.tail = mixer.zeros(batch, size - 1, width)

    def step(self, x: Token) -> Token:
        seen = self._seen(x[:, None])
        y: Tensor = self.mixer.output(torch.einsum("bkd,dk->bd", seen, self.mixer.kernel))
        return y

    def read(self, x: Tokens) -> Tokens:
        convolved = depthwise_convolve(self._seen(x), self.mixer.kernel, causal=True)
        y: Tensor = self.mixer.output(convolved[:, -x.shape[1] :])
        return y

    def _seen(self, x: Tensor) -> Tensor:
        """Add the new tokens to the tail, and keep the end of it for those to come."""
        seen = torch.cat([self.tail, self.mixer.gated(x)], dim=1)
        self.tail = seen[:, x.shape[1] :].clone()
        return seen

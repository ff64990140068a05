"""Long convolution: every channel has a kernel as long as the sequence, learnt weight by weight.

No state space makes the kernels smooth, so small weights are pushed to zero, and in training a part
of the others is dropped:

    K = dropout(sign(k) max(|k| - lam, 0))
    y = glu(W gelu(convolve(x, K) + skip x) + bias)

The convolution is computed by Fourier transforms (`ops/fft_convolution.py`), and a second kernel
looks ahead. When causal there is none, and transforms of parts of the row keep later tokens away
from earlier ones to the last bit (`ops/causal_convolution.py`).

Paper:  Fu et al. (2023), https://arxiv.org/abs/2302.06646
Cost:   time O(N log N) per channel and O(N D^2) for the gate, memory O(N D).
Choice: `init`, `lam` and `kernel_dropout` as in the authors' code (HazyResearch/safari), which has
        the paper's other means, smoothing by an average, only as an option: it is left out here.
Choice: one kernel per channel and direction; the authors' recipes for the arena have two per
        channel, and some of them look back only.
Choice: which weights are dropped is drawn once per step, so that the parts of a batch agree.
Choice: shorter sequences take the first weights of the kernels.
Choice: no feed-forward follows: the gate mixes the channels, and the authors' blocks have no other.
Choice: everything here counts as convolution, the gate too.
"""

from collections.abc import Callable
from typing import Literal

import torch
import torch.nn.functional as F
from jaxtyping import Bool
from pydantic import Field
from torch import Tensor, nn

from longarena.attention.base import Mixer, Place
from longarena.attention.cards import CARDS
from longarena.attention.ops.cache import Cache
from longarena.attention.ops.causal_convolution import causal_convolve
from longarena.attention.ops.convolution import Convolving
from longarena.attention.ops.decoder import Decoder, Finished, Token
from longarena.attention.ops.fft_convolution import Kernels, fft_convolve
from longarena.options import Options
from longarena.seeding import torch_rng
from longarena.shapes import Mask, Tokens

Size = tuple[int, int, int]


def random(size: Size) -> Kernels:
    """Draw small weights, most of which the threshold makes zero."""
    return 0.002 * torch.randn(size)


def double_exp(size: Size) -> Kernels:
    """Draw larger weights that decay with the distance, faster from channel to channel."""
    _, width, length = size
    rates = (width // 2) ** (torch.arange(width) / width)
    distances = torch.arange(length) / length
    return 0.02 * torch.randn(size) * torch.exp(-rates[:, None] * distances)


STARTS: dict[str, Callable[[Size], Kernels]] = {"random": random, "double_exp": double_exp}


class LongConvOptions(Options):
    """Weights below `lam` are zero, and in training a share of `kernel_dropout` of the others."""

    lam: float = Field(0.003, ge=0)
    kernel_dropout: float = Field(0.2, ge=0, lt=1)
    init: Literal["random", "double_exp"] = "random"


class LongConv(Mixer, Convolving):
    """Learnt kernels, one per channel and direction, and a gate."""

    card = CARDS["long-conv"]
    options_type = LongConvOptions
    has_own_positions = True
    kept: Tensor

    def __init__(
        self, place: Place, options: LongConvOptions, previous: Mixer | None = None
    ) -> None:
        super().__init__(place, options, previous)
        self.options = options
        size = (1 if place.causal else 2, place.width, place.max_length)
        self.kernel = nn.Parameter(STARTS[options.init](size))
        self.skip = nn.Parameter(torch.randn(place.width))
        self.gate = nn.Linear(place.width, 2 * place.width)
        self.register_buffer("kept", self._draw(0), persistent=False)

    def mlp_width(self, asked: int) -> int:
        return 0

    def slow_parameters(self) -> frozenset[str]:
        return frozenset({"kernel"})

    def begin_step(self, step: int) -> None:
        self.kept.copy_(self._draw(step))

    def forward(self, x: Tokens, mask: Mask) -> Tokens:
        x = x.masked_fill(~mask[..., None], 0.0)
        kernels = self.kernels(x.shape[1])
        if self.place.causal:
            return self.gated(causal_convolve(x, kernels[0]), x)
        return self.gated(fft_convolve(x, kernels), x)

    def decoder(self, batch: int) -> Decoder:
        return Finished(LongConvDecoder(self, batch), self.gated)

    def gated(self, y: Tensor, x: Tensor) -> Tensor:
        """Add the skip to what was convolved, and mix the channels."""
        return F.glu(self.gate(F.gelu(y + self.skip * x)), dim=-1)

    def kernels(self, length: int) -> Kernels:
        """Return the weights at every distance below `length`, after threshold and dropout."""
        weights = F.softshrink(self.kernel[..., :length], self.options.lam)
        if self.training:
            weights = weights * self.kept[..., :length] / (1 - self.options.kernel_dropout)
        return weights

    def _draw(self, step: int) -> Bool[Tensor, "directions width length"]:
        rng = torch_rng(self.place.seed, "kernel dropout", self.place.layer, step)
        kept = torch.empty(self.kernel.shape, dtype=torch.bool)
        return kept.bernoulli_(1 - self.options.kernel_dropout, generator=rng)


class LongConvDecoder(Decoder):
    """Keep all tokens: a kernel that is learnt weight by weight has no smaller state.

    Each new token is one weighted sum over all of them; several at once are a convolution. Beyond
    the length of the kernel, the oldest tokens are forgotten.
    """

    def __init__(self, mixer: LongConv, batch: int) -> None:
        self.mixer = mixer
        longest = mixer.place.max_length
        self.tokens = Cache(mixer.zeros(batch, mixer.place.width), limit=longest)
        # the weight of the oldest token first; in a tuple, for it is computed and not carried
        self.weights = (mixer.kernels(longest)[0].flip(-1).T.contiguous(),)

    def step(self, x: Token) -> Token:
        tokens = self.tokens.append(x)
        y: Tensor = (tokens * self.weights[0][-tokens.shape[1] :]).sum(dim=1)
        return y

    def read(self, x: Tokens) -> Tokens:
        if len(self.tokens) + x.shape[1] > len(self.weights[0]):
            return super().read(x)
        tokens = self.tokens.extend(x)
        convolved: Tensor = causal_convolve(tokens, self.mixer.kernels(tokens.shape[1])[0])
        return convolved[:, -x.shape[1] :]

"""S4D: every channel is filtered by a linear state space whose transition is diagonal.

A channel drives P complex numbers, its state, and reads them out again:

    s'(t) = A s(t) + x(t)        y(t) = Re C s(t) + skip x(t)        A = diag(-exp(a) + i b)

The numbers come in conjugate pairs, of which one is kept. With inputs held for a time step dt, the
output is a convolution with a kernel as long as the sequence,

    K_l = 2 Re sum_n C_n (exp(dt A_n) - 1) / A_n exp(dt A_n l)

(`ops/exponentials.py`), computed by Fourier transforms (`ops/fft_convolution.py`), and a second
kernel, with a C of its own, looks ahead. When causal there is no second kernel, and the states are
computed from chunk to chunk (`ops/diagonal_scan.py`). Then the channels are mixed, and gated:

    y = glu(W gelu(convolve(x) + skip x) + bias)

Paper:  Gu et al. (2022), https://arxiv.org/abs/2206.11893
Cost:   time O(N log N + N P) per channel and O(N D^2) for the gate, memory O(N D).
Choice: the three starts of A that the paper recommends; B is 1, and trained in C alone.
Choice: as in the authors' code (state-spaces/s4) A, dt and skip serve both directions, and the
        kernel that looks ahead begins at the next token.
Choice: no feed-forward follows: the gate mixes the channels, and the authors' blocks have no other.
Choice: everything here counts as convolution, the gate too.
"""

import math
from collections.abc import Callable
from typing import Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float
from pydantic import Field, model_validator
from torch import Tensor, nn

from longarena.attention.base import Mixer, Place
from longarena.attention.cards import CARDS
from longarena.attention.ops.convolution import Convolving
from longarena.attention.ops.decoder import Decoder, Finished
from longarena.attention.ops.diagonal_scan import DiagonalDecoder, Modes, diagonal_scan
from longarena.attention.ops.exponentials import Exponents, Weights, sum_exponentials
from longarena.attention.ops.fft_convolution import Kernels, fft_convolve
from longarena.options import Options
from longarena.shapes import Mask, Tokens

Frequencies = Float[Tensor, " pairs"]


def lin(state: int) -> Frequencies:
    """Space the frequencies evenly, as in a Fourier series."""
    return math.pi * torch.arange(state // 2)


def inv(state: int) -> Frequencies:
    """Space them by an inverse law, to which those of `legs` tend for large states."""
    return state / math.pi * (state / (2 * torch.arange(state // 2) + 1) - 1)


def legs(state: int) -> Frequencies:
    """Take the eigenvalues of the normal part of HiPPO-LegS, -1/2 plus a skew-symmetric matrix."""
    root = torch.sqrt(torch.arange(state, dtype=torch.float64) + 0.5)
    below = torch.tril(torch.outer(root, root), diagonal=-1)
    eigenvalues: Tensor = torch.linalg.eigvalsh(1j * (below - below.mT))
    return eigenvalues.flip(0)[: state // 2].float()


FREQUENCIES: dict[str, Callable[[int], Frequencies]] = {"lin": lin, "inv": inv, "legs": legs}


class S4DOptions(Options):
    """`state` numbers per channel, in conjugate pairs; the time step is drawn within its limits."""

    state: int = Field(64, ge=2, multiple_of=2)
    init: Literal["lin", "inv", "legs"] = "lin"
    dt_min: float = Field(1e-3, gt=0)
    dt_max: float = Field(1e-1, gt=0)

    @model_validator(mode="after")
    def _is_a_range(self) -> "S4DOptions":
        if self.dt_min > self.dt_max:
            raise ValueError(f"dt_min {self.dt_min} is above dt_max {self.dt_max}; exchange them")
        return self


class S4D(Mixer, Convolving):
    """Diagonal state spaces, one per channel, and a gate."""

    card = CARDS["s4d"]
    options_type = S4DOptions
    has_own_positions = True

    def __init__(self, place: Place, options: S4DOptions, previous: Mixer | None = None) -> None:
        super().__init__(place, options, previous)
        width, pairs = place.width, options.state // 2
        low, high = math.log(options.dt_min), math.log(options.dt_max)
        frequency = FREQUENCIES[options.init](options.state)
        self.log_dt = nn.Parameter(torch.empty(width).uniform_(low, high))
        self.log_decay = nn.Parameter(torch.full((width, pairs), math.log(0.5)))
        self.frequency = nn.Parameter(frequency.repeat(width, 1))
        directions = 1 if place.causal else 2
        # the two parts share the variance of a complex number
        self.c = nn.Parameter(torch.randn(directions, width, pairs, 2) * math.sqrt(0.5))
        self.skip = nn.Parameter(torch.randn(width))
        self.gate = nn.Linear(width, 2 * width)

    def mlp_width(self, asked: int) -> int:
        return 0

    def slow_parameters(self) -> frozenset[str]:
        return frozenset({"log_dt", "log_decay", "frequency"})

    def forward(self, x: Tokens, mask: Mask) -> Tokens:
        x = x.masked_fill(~mask[..., None], 0.0)
        if self.place.causal:
            return self.gated(diagonal_scan(x, self.modes())[0], x)
        return self.gated(fft_convolve(x, self.kernels(x.shape[1])), x)

    def decoder(self, batch: int) -> Decoder:
        return Finished(DiagonalDecoder(self.modes(), batch), self.gated)

    def gated(self, y: Tensor, x: Tensor) -> Tensor:
        """Add the skip to what was filtered, and mix the channels."""
        return F.glu(self.gate(F.gelu(y + self.skip * x)), dim=-1)

    def modes(self) -> Modes:
        """Return the states that look back; the factor of 2 is for the conjugates."""
        weights, exponents = self.discretised()
        return Modes(2 * weights[0], exponents)

    # complex numbers cannot be compiled
    @torch.compiler.disable  # type: ignore[untyped-decorator]
    def kernels(self, length: int) -> Kernels:
        """Compute the responses to a single token, at every distance from it."""
        return sum_exponentials(*self.discretised(), length)

    def discretised(self) -> tuple[Weights, Exponents]:
        """Return what the states weigh in the answer, and how they go on, of one step in time."""
        transition = torch.complex(-self.log_decay.double().exp(), self.frequency.double())
        exponents = self.log_dt.double().exp()[:, None] * transition
        # in single precision exp(dt A) - 1 would lose half of its digits
        held = (torch.exp(exponents) - 1) / transition
        c = torch.view_as_complex(self.c)
        return c * held.to(c.dtype), exponents

"""Linear Recurrent Unit: a recurrence without nonlinearity, whose transition is kept stable.

    x_k = lambda * x_(k-1) + gamma * (B u_k)        y = Re(C x) + skip * u

States, B and C are complex. The transition is written in polar form, with exponentials that keep it
inside of the unit circle for any parameters:

    lambda = exp(-exp(nu) + i exp(theta))

At the start lambda is drawn evenly from a ring near the unit circle, and gamma is sqrt(1 -
|lambda|^2), so that states are no larger than inputs, however long they remember. Both ways, a
second C reads the states of the same recurrence run from the end. A gated linear unit follows:

    answer = (V z + v) * sigmoid(W z + w)        z = gelu(y)

Paper:  Orvieto et al. (2023), https://arxiv.org/abs/2303.06349, and its pseudo code;
        NicolasZucchet/minimal-LRU for the layer around it
Cost:   time O(N P D), memory O(N (P + D)), for P states.
Choice: gamma is learned, as log gamma, and so is skip, which begins standard normal: the pseudo
        code. The ring is [0.9, 0.999] by default; the authors choose it by task.
Choice: nu, theta, gamma and B learn slowly and do not decay, as in minimal-LRU.
Choice: the paper trains on the arena in one direction; here a second C is added, as in S5.
Choice: GELU in its exact form, as everywhere here.
"""

import math

import torch
import torch.nn.functional as F
from pydantic import Field, model_validator
from torch import Tensor, nn

from longarena.attention.base import Mixer, Place
from longarena.attention.cards import CARDS
from longarena.attention.ops.decoder import Decoder, Finished
from longarena.attention.ops.state_space import System, SystemDecoder, lecun_linear, run_system
from longarena.options import Options
from longarena.shapes import Mask, Tokens


class LRUOptions(Options):
    """`state` complex numbers in the state, by default as many as the width.

    At the start |lambda| is between `r_min` and `r_max`, and its phase below `max_phase`.
    """

    state: int = Field(0, ge=0)
    r_min: float = Field(0.9, ge=0, lt=1)
    r_max: float = Field(0.999, gt=0, lt=1)
    max_phase: float = Field(2 * math.pi, gt=0)

    @model_validator(mode="after")
    def _radii_are_a_range(self) -> "LRUOptions":
        if self.r_min > self.r_max:
            raise ValueError(f"r_min {self.r_min} is above r_max {self.r_max}; swap them")
        return self


class LRU(Mixer):
    """A linear recurrence on a ring, run both ways unless causal."""

    card = CARDS["lru"]
    options_type = LRUOptions
    has_own_positions = True

    def __init__(self, place: Place, options: LRUOptions, previous: Mixer | None = None) -> None:
        super().__init__(place, options, previous)
        width, state = place.width, options.state or place.width
        directions = 1 if place.causal else 2
        # 1 - a draw from [0, 1) is never 0, whose logarithm would be infinite
        area, turn = 1 - torch.rand(2, state)
        squared = options.r_min**2 + area * (options.r_max**2 - options.r_min**2)
        self.nu = nn.Parameter((-0.5 * squared.log()).log())
        self.theta = nn.Parameter((options.max_phase * turn).log())
        self.log_gamma = nn.Parameter(0.5 * (-squared).log1p())
        self.b = nn.Parameter(torch.randn(state, width, 2) / math.sqrt(2 * width))
        self.c = nn.Parameter(torch.randn(directions, width, state, 2) / math.sqrt(state))
        self.skip = nn.Parameter(torch.randn(width))
        self.gate = lecun_linear(width, 2 * width)

    def mlp_width(self, asked: int) -> int:
        return 0

    def slow_parameters(self) -> frozenset[str]:
        return frozenset({"nu", "theta", "log_gamma", "b"})

    def forward(self, x: Tokens, mask: Mask) -> Tokens:
        u = x.masked_fill(~mask[..., None], 0.0)
        return self.gated(run_system(u, self.system()), u)

    def decoder(self, batch: int) -> Decoder:
        return Finished(SystemDecoder(self.system(), batch), self.gated)

    def gated(self, y: Tensor, u: Tensor) -> Tensor:
        """Add the skip to the answers of the recurrence, and gate every token by itself."""
        answer: Tensor = F.glu(self.gate(F.gelu(y.addcmul(self.skip, u))), dim=-1)
        return answer

    def system(self) -> System:
        """Return the recurrence with its scaled input matrix."""
        transition = torch.complex(-self.nu.exp(), self.theta.exp()).exp()
        scaled = self.log_gamma.exp()[:, None, None] * self.b
        inward, outward = torch.view_as_complex(scaled), torch.view_as_complex(self.c)
        return System(transition, inward, outward)

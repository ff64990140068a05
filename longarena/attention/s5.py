"""S5: one linear system per layer, with as many inputs and outputs as there are channels.

    dx/dt = Lambda x + B u        y = 2 Re(C x) + skip * u

Lambda is diagonal and complex. Its eigenvalues come in conjugate pairs, of which one half is kept:
the other half would add the conjugate, hence 2 Re. Every state has a time step dt of its own, over
which its input is held (zero-order hold):

    x_k = a x_(k-1) + (a - 1) / Lambda B u_k        a = exp(Lambda dt)

Both ways, a second C reads the states of the same system run from the end. A gate follows:

    z = gelu(y)        answer = z * sigmoid(W z + bias)

Paper:  Smith et al. (2023), https://arxiv.org/abs/2208.04933; the authors' lindermanlab/S5
Cost:   time O(N P D), memory O(N (P + D)), for P states.
Choice: Lambda begins as the eigenvalues of `blocks` copies of the normal part of HiPPO-LegS, with
        real part -1/2. B and C are drawn as real and complex matrices and brought into the base of
        the eigenvectors V: V^H B and C V. Both are LeCun-normal with the full number of states as
        their fan-in, as the authors' `lecun_normal` and, despite its name, `trunc_standard_normal`
        come out. The first entry of every eigenvector is made real, or the draw would depend on the
        library that finds them.
Choice: real parts stay below -1e-4, the authors' `clip_eigs`; the gate is their `half_glu1`, and
        what learns slowly their `standard` setting: all of the system but C and skip.
Choice: GELU in its exact form, as everywhere here.
Choice: `blocks` is 1; the authors choose it by task.
"""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Complex
from pydantic import Field, model_validator
from torch import Tensor, nn

from longarena.attention.base import Mixer, Place
from longarena.attention.cards import CARDS
from longarena.attention.ops.decoder import Decoder, Finished
from longarena.attention.ops.state_space import (
    System,
    SystemDecoder,
    lecun_linear,
    lecun_normal,
    run_system,
)
from longarena.errors import UserError
from longarena.options import Options
from longarena.shapes import Mask, Tokens

LARGEST_REAL_PART = -1e-4


class S5Options(Options):
    """`state` numbers in the state, by default the width, begun as `blocks` systems side by side.

    Time steps begin between `dt_min` and `dt_max`, evenly on a logarithmic scale.
    """

    state: int = Field(0, ge=0)
    blocks: int = Field(1, gt=0)
    dt_min: float = Field(1e-3, gt=0)
    dt_max: float = Field(1e-1, gt=0)

    @model_validator(mode="after")
    def _steps_are_a_range(self) -> "S5Options":
        if self.dt_min > self.dt_max:
            raise ValueError(f"dt_min {self.dt_min} is above dt_max {self.dt_max}; swap them")
        return self


class S5(Mixer):
    """A state space with many inputs and outputs, run both ways unless causal."""

    card = CARDS["s5"]
    options_type = S5Options
    has_own_positions = True

    def __init__(self, place: Place, options: S5Options, previous: Mixer | None = None) -> None:
        super().__init__(place, options, previous)
        width, state, blocks = place.width, options.state or place.width, options.blocks
        if state % (2 * blocks):
            raise UserError(
                f"a state of {state} cannot be shared by {blocks} blocks of conjugate pairs; "
                f"choose state={-(-state // (2 * blocks)) * 2 * blocks}"
            )
        eigenvalues, vectors = hippo_normal(state // blocks)
        eigenvalues = eigenvalues.repeat(blocks)
        directions = 1 if place.causal else 2
        b = lecun_normal((blocks, state // blocks, width), state).to(vectors.dtype)
        c = lecun_normal((directions, width, blocks, state // blocks, 2), state)

        self.lambda_real = nn.Parameter(eigenvalues.real.float())
        self.lambda_imag = nn.Parameter(eigenvalues.imag.float())
        low, high = math.log(options.dt_min), math.log(options.dt_max)
        self.log_dt = nn.Parameter(low + (high - low) * torch.rand(state // 2))
        self.b = nn.Parameter(_parts((vectors.mH @ b).flatten(0, 1)))
        self.c = nn.Parameter(_parts((torch.view_as_complex(c.double()) @ vectors).flatten(2)))
        self.skip = nn.Parameter(torch.randn(width))
        self.gate = lecun_linear(width, width)

    def mlp_width(self, asked: int) -> int:
        return 0

    def slow_parameters(self) -> frozenset[str]:
        return frozenset({"lambda_real", "lambda_imag", "log_dt", "b"})

    def forward(self, x: Tokens, mask: Mask) -> Tokens:
        u = x.masked_fill(~mask[..., None], 0.0)
        return self.gated(run_system(u, self.system()), u)

    def decoder(self, batch: int) -> Decoder:
        return Finished(SystemDecoder(self.system(), batch), self.gated)

    def gated(self, y: Tensor, u: Tensor) -> Tensor:
        """Add the skip to the answers of the system, and gate every token by itself."""
        z = F.gelu(y.addcmul(self.skip, u))
        answer: Tensor = z * self.gate(z).sigmoid()
        return answer

    def system(self) -> System:
        """Discretise the system; the factor of 2 is for the conjugates."""
        real = self.lambda_real.clamp_max(LARGEST_REAL_PART)
        rate = torch.complex(real, self.lambda_imag)
        grown = rate * self.log_dt.exp()
        held = _exp_minus_one(grown) / rate
        inward = held[:, None] * torch.view_as_complex(self.b)
        return System(grown.exp(), inward, 2 * torch.view_as_complex(self.c))


def hippo_normal(
    size: int,
) -> tuple[Complex[Tensor, " half"], Complex[Tensor, "size half"]]:
    """Return one of each pair of eigenvalues of the normal part of HiPPO-LegS, and its vectors.

    >>> hippo_normal(2)[0]
    tensor([-0.5000-0.8660j], dtype=torch.complex128)
    """
    root = torch.arange(size, dtype=torch.float64).mul(2).add(1).sqrt()
    outer = root[:, None] * root
    # -1/2 on the diagonal; below it -outer / 2, above it the same with the other sign
    skew = (outer.triu(1) - outer.tril(-1)) / 2
    imaginary, vectors = torch.linalg.eigh(-1j * skew)
    vectors = vectors * torch.sgn(vectors[0]).conj()
    half = size // 2
    return torch.complex(torch.full_like(imaginary, -0.5), imaginary)[:half], vectors[:, :half]


def _parts(z: Tensor) -> Tensor:
    """Write complex numbers as pairs of real ones, in single precision."""
    return torch.view_as_real(z.to(torch.complex64)).contiguous()


def _exp_minus_one(z: Tensor) -> Tensor:
    """Compute exp(z) - 1; near zero, subtracting would leave few digits."""
    real, imaginary = z.real, z.imag
    cosine_minus_one = -2 * (imaginary / 2).sin().square()
    return torch.complex(
        real.expm1() * imaginary.cos() + cosine_minus_one, real.exp() * imaginary.sin()
    )

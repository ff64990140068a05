"""A linear system with many inputs, many outputs and a diagonal transition, run over a sequence.

    x_k = a * x_(k-1) + B u_k        y_k = Re(C x_k)

States are complex, inputs and outputs real. A second C, if there is one, reads the states of the
same system run from the end of the sequence, and the two answers are added.

Cost:   time O(N P D), memory O(N P), for P states and width D.
Choice: the products with B and C are real ones, over real and imaginary parts side by side. That
        is half the work of a complex product, whose other half would multiply or yield zeros.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import torch
import torch.nn.functional as F
from einops import rearrange
from jaxtyping import Complex, Float
from torch import Tensor, nn

from longarena.attention.ops.decoder import Decoder, Token
from longarena.attention.ops.recurrence import recur
from longarena.shapes import Tokens

# the standard deviation of a normal variable that is cut off at two of its own
CUT_DEVIATION = 0.87962566103423978

Transition: TypeAlias = Complex[Tensor, " states"]
Inward: TypeAlias = Complex[Tensor, "states width"]
Outward: TypeAlias = Complex[Tensor, "directions width states"]


@dataclass(frozen=True)
class System:
    """Transition, input matrix, and one or two output matrices, of one step in time."""

    a: Transition
    b: Inward
    c: Outward

    @cached_property
    def inward(self) -> Float[Tensor, "parts width"]:
        """The input matrix for real and imaginary parts side by side."""
        return rearrange(torch.view_as_real(self.b), "p d two -> (p two) d")

    @cached_property
    def outward(self) -> Float[Tensor, "directions width parts"]:
        """The output matrices for real and imaginary parts side by side."""
        # Re(u v) is the dot product of u and the conjugate of v, both read as pairs
        c = torch.view_as_real(self.c.conj().resolve_conj())
        return rearrange(c, "s d p two -> s d (p two)")


def run_system(u: Tokens, system: System) -> Tokens:
    """Run the system from the start, and from the end too if it has a second output matrix."""
    with torch.autocast(u.device.type, enabled=False):
        inputs = _enter(u, system)
        answers = [
            F.linear(torch.view_as_real(recur(system.a, inputs, bool(direction))).flatten(-2), read)
            for direction, read in enumerate(system.outward)
        ]
    return _sum(answers).to(u.dtype)


class SystemDecoder(Decoder):
    """Carry the states; several tokens are run at once, from the states before them."""

    def __init__(self, system: System, batch: int) -> None:
        self.system = system
        self.states = system.a.new_zeros(batch, len(system.a))

    def step(self, x: Token) -> Token:
        return self.read(x[:, None])[:, 0]

    def read(self, x: Tokens) -> Tokens:
        inputs = _enter(x, self.system)
        inputs[:, 0].addcmul_(self.system.a, self.states)
        states = recur(self.system.a, inputs)
        self.states = states[:, -1].clone()
        y = F.linear(torch.view_as_real(states).flatten(-2), self.system.outward[0])
        return y.to(x.dtype)


def _enter(u: Tokens, system: System) -> Complex[Tensor, "batch length states"]:
    dtype = torch.promote_types(u.dtype, torch.float32)  # halves have no complex numbers
    inputs = F.linear(u.to(dtype), system.inward)
    return torch.view_as_complex(rearrange(inputs, "b n (p two) -> b n p two", two=2))


def _sum(answers: Sequence[Tensor]) -> Tensor:
    return answers[0] if len(answers) == 1 else answers[0] + answers[1]


def lecun_normal(shape: Sequence[int], fan_in: int) -> Tensor:
    """Draw from a normal distribution cut off at two deviations, of variance 1 / fan_in."""
    deviation = fan_in**-0.5 / CUT_DEVIATION
    drawn = torch.empty(*shape)
    return nn.init.trunc_normal_(drawn, std=deviation, a=-2 * deviation, b=2 * deviation)


def lecun_linear(width_in: int, width_out: int) -> nn.Linear:
    """Make a linear map as JAX's authors do: LeCun-normal, with a bias of zero."""
    linear = nn.Linear(width_in, width_out)
    linear.weight = nn.Parameter(lecun_normal((width_out, width_in), width_in))
    nn.init.zeros_(linear.bias)
    return linear

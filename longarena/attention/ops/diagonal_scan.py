"""A diagonal state space for every channel, from the start to the end, in chunks.

Every channel x drives states of its own, each of which fades and turns, and reads them again:

    s_t = exp(a) s_(t-1) + x_t          y_t = Re sum_n w_n s_t,n          n states for a channel

A row is cut into chunks of c tokens. What a chunk gives to itself is a product with a small
matrix, which holds the responses K_l = Re sum_n w_n exp(a_n l) on its diagonals. What it leaves to
the states, and what it reads of those that arrive, are products with powers of exp(a). From chunk
to chunk the states are a recurrence over N / c steps (`recurrence.py`).

Cost:   time O(N (c + P)), memory O(N + (N / c) P + c P), per channel of P states.
Choice: chunks, where a convolution by Fourier transforms takes O(N log N): rounding in a transform
        carries a trace of every token to all others, earlier ones included, and the states at the
        end, which decoding needs, would be work of their own. Measured with one thread in processor
        time for 32 complex states, forward and backward: 302 ms for four rows of 4,096 tokens and
        256 channels, against 305 ms by transforms; 90 ms for one row of 16,384 tokens and 64
        channels, against 99 ms.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import torch
import torch.nn.functional as F
from einops import rearrange
from jaxtyping import Float, Num
from torch import Tensor

from longarena.attention.ops.decoder import Decoder, Token
from longarena.attention.ops.exponentials import powers
from longarena.attention.ops.recurrence import recur
from longarena.shapes import Tokens

CHUNK = 64

States: TypeAlias = Num[Tensor, "batch width states"]


@dataclass(frozen=True)
class Modes:
    """How the states of every channel are read, w, and how they go on, a; real or complex.

    The exponents are of double precision, all else is of that of the weights.
    """

    weights: Num[Tensor, "width states"]
    exponents: Num[Tensor, "width states"]

    @cached_property
    def transition(self) -> Num[Tensor, "width states"]:
        """What a state is multiplied by from one token to the next."""
        return self.exponents.exp().to(self.weights.dtype)


# complex numbers cannot be compiled
@torch.compiler.disable  # type: ignore[untyped-decorator]
def diagonal_scan(x: Tokens, modes: Modes, before: States | None = None) -> tuple[Tokens, States]:
    """Read the states at every token, beginning with those `before`; return the last ones, too.

    >>> half = Modes(torch.ones(1, 1), torch.full((1, 1), 0.5).double().log())
    >>> y, last = diagonal_scan(torch.tensor([8.0, 0.0, 0.0]).reshape(1, 3, 1), half)
    >>> y.flatten().tolist(), last.item()
    ([8.0, 4.0, 2.0], 2.0)
    """
    length, size = x.shape[1], min(CHUNK, x.shape[1])
    steps = powers(modes.exponents, size + 1, modes.weights.dtype)
    responses = modes.weights[:, None] * steps
    with torch.autocast(x.device.type, enabled=False):
        padded = F.pad(x.to(responses.real.dtype), (0, 0, 0, -length % size))
        chunks = rearrange(padded, "b (g c) d -> d b g c", c=size)
        arriving = _arriving(chunks, steps, before)
        last = _last(chunks[:, :, -1], steps, arriving[:, :, -1], (length - 1) % size + 1)
        within = _times(chunks, toeplitz(responses[:, :size].sum(-1).real).mT)
        # Re(u v) is the dot product of u and the conjugate of v, read as pairs of real numbers
        y = within + _times(_numbers(arriving), _numbers(responses[:, 1:].conj()).mT)
    joined = rearrange(y, "d b g c -> b (g c) d")[:, :length]
    return joined.to(x.dtype), rearrange(last, "d b n -> b d n")


def toeplitz(kernel: Float[Tensor, "width size"]) -> Float[Tensor, "width size size"]:
    """Put a kernel on the diagonals of a lower triangle: the weight of token j for token i >= j.

    >>> toeplitz(torch.tensor([[1.0, 2.0, 3.0]]))[0].tolist()
    [[1.0, 0.0, 0.0], [2.0, 1.0, 0.0], [3.0, 2.0, 1.0]]
    """
    size = kernel.shape[-1]
    return F.pad(kernel, (size - 1, 0)).unfold(-1, size, 1).flip(-1)


def _arriving(chunks: Tensor, steps: Tensor, before: States | None) -> Tensor:
    """Give the states with which every chunk begins."""
    first = steps.new_zeros(len(steps), chunks.shape[1], 1, steps.shape[-1])
    if before is not None:
        first = rearrange(before, "b d n -> d b 1 n")
    if chunks.shape[2] == 1:
        return first
    whole = steps[:, None, -1:]
    added = _added(chunks[:, :, :-1], steps)
    added = torch.cat([torch.addcmul(added[:, :, :1], whole, first), added[:, :, 1:]], dim=2)
    return torch.cat([first, recur(whole, added)], dim=2)


def _last(chunk: Tensor, steps: Tensor, first: Tensor, length: int) -> Tensor:
    """Give the states after so many tokens of a chunk that begins with `first`."""
    steps = steps[:, : length + 1]
    return torch.addcmul(_added(chunk[..., :length], steps), steps[:, -1:], first)


def _added(tokens: Tensor, steps: Tensor) -> Tensor:
    """Sum what the tokens of a chunk, one fewer than `steps`, leave to the states at its end."""
    sums = _times(tokens, _numbers(steps[:, :-1].flip(1)))
    if not steps.is_complex():
        return sums
    return torch.view_as_complex(rearrange(sums, "... (n two) -> ... n two", two=2))


def _times(x: Tensor, matrices: Float[Tensor, "width in out"]) -> Tensor:
    """Multiply every channel by its matrix; spread over rows, the matrices would be copied."""
    product: Tensor = x.flatten(1, -2) @ matrices
    return product.view(*x.shape[:-1], -1)


def _numbers(z: Tensor) -> Tensor:
    """Read complex numbers as pairs of real ones."""
    return torch.view_as_real(z.resolve_conj()).flatten(-2) if z.is_complex() else z


class DiagonalDecoder(Decoder):
    """Carry the states of every channel; one token is one step of the recurrence."""

    def __init__(self, modes: Modes, batch: int) -> None:
        self.modes = modes
        self.states = modes.weights.new_zeros(batch, *modes.weights.shape)

    def step(self, x: Token) -> Token:
        self.states = self.modes.transition * self.states + x[..., None]
        y: Tensor = (self.modes.weights * self.states).sum(dim=-1).real
        return y

    def read(self, x: Tokens) -> Tokens:
        y: Tensor
        y, self.states = diagonal_scan(x, self.modes, self.states)
        return y

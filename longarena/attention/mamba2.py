"""Mamba-2: a state per head, whose decay every token chooses; in both directions it is Hydra.

    z, x, B, C, dt = W u                       x, B, C = silu(convolve(x, B, C))
    S_i = exp(dt_i A) S_{i-1} + dt_i B_i x_i   y_i = C_i S_i + skip x_i        A < 0, dt > 0
    output(norm(y * silu(z)))

Every head of x has a dt, an A and a skip of its own; B and C are shared by the heads. The sum over
earlier tokens is linear attention with queries C, keys B and a decay of one number
(`ops/selective_scan.py`).

In both directions two such scans, each with its B, C and dt, fill the two halves of a matrix, and
the diagonal depends on the token (a quasiseparable matrix):

    y_i = C_{i-1} S_{i-1} + C'_{i+1} S'_{i+1} + (V x_i + skip) x_i        output(norm(y) * silu(z))

Paper:  Dao and Gu (2024), https://arxiv.org/abs/2405.21060; in both directions, Hwang et al.
        (2024), https://arxiv.org/abs/2407.09941
Cost:   time O(N (c + S) E), memory O(N E + (N / c) S E), for E channels in all heads, states of S
        numbers per channel and chunks of c.
Choice: what the papers leave open is as in the authors' code (state-spaces/mamba, Mamba2Simple, and
        goombalab/hydra): one group of B and C; A, dt_bias and skip serve both directions; a scan is
        shifted as a whole, so that C is that of the neighbour; Hydra norms before it gates, has a
        wider convolution, which looks ahead too, and starts with A = -1.
Choice: a padded token has dt = 0, so it adds nothing and nothing fades.
Choice: no feed-forward follows: the authors' blocks have none.
Choice: A, dt_bias and skip are slow; the authors spare them the weight decay, at the common rate.
"""

import math
from typing import Literal

import torch
import torch.nn.functional as F
from einops import rearrange
from jaxtyping import Float
from pydantic import Field, field_validator
from torch import Tensor, nn

from longarena.attention.base import Mixer, Place
from longarena.attention.cards import CARDS
from longarena.attention.ops.decoder import Decoder, Token
from longarena.attention.ops.gated_norm import EPSILON, GatedNorm
from longarena.attention.ops.selective_scan import (
    CHUNK,
    HeadValues,
    PerHead,
    Selection,
    Shared,
    Walk,
    continue_selective_scan,
    selective_scan,
)
from longarena.attention.ops.short_convolution import ShortConvolution
from longarena.errors import UserError
from longarena.options import Options
from longarena.shapes import Mask, Tokens

# the limits of the time step and of -A at the start
DT_MIN, DT_MAX = 1e-3, 1e-1
A_MIN, A_MAX = 1.0, 16.0
LARGEST_HEAD = 64


class Mamba2Options(Options):
    """`state` numbers per channel, of which there are `expand` times the width, in heads.

    `head_size=auto` is the largest divisor of the channels up to 64, `conv=auto` the authors' size:
    4 tokens when causal and 7 in both directions. `chunk` changes nothing but speed.
    """

    state: int = Field(64, ge=1)
    conv: int | Literal["auto"] = "auto"
    expand: int = Field(2, ge=1)
    head_size: int | Literal["auto"] = "auto"
    chunk: int = Field(CHUNK, ge=1)

    @field_validator("conv", "head_size")
    @classmethod
    def _is_a_size(cls, size: int | str) -> int | str:
        if isinstance(size, int) and size < 1:
            raise ValueError("choose 1 or more, or auto")
        return size


class Mamba2(Mixer):
    """Selective state spaces with one decay per head, in one direction or in both."""

    card = CARDS["mamba2"]
    options_type = Mamba2Options
    has_own_positions = True

    def __init__(self, place: Place, options: Mamba2Options, previous: Mixer | None = None) -> None:
        super().__init__(place, options, previous)
        inner, directions = options.expand * place.width, 1 if place.causal else 2
        heads = inner // head_size(inner, options.head_size)
        size = (4 if place.causal else 7) if options.conv == "auto" else options.conv
        convolved = [inner] + [options.state] * 2 * directions
        self.convolved = convolved
        self.walks = walks(options.chunk, place.causal)
        self.parts = [inner, sum(convolved)] + [heads] * directions
        self.input = nn.Linear(place.width, sum(self.parts), bias=False)
        self.convolution = ShortConvolution(sum(convolved), size, place.causal)
        self.dt_bias = nn.Parameter(first_dt_bias(heads))
        first_a = torch.empty(heads).uniform_(A_MIN, A_MAX) if place.causal else torch.ones(heads)
        self.log_decay = nn.Parameter(first_a.log())
        self.skip = nn.Parameter(torch.ones(heads))
        if not place.causal:
            self.skip_map = nn.Linear(inner, heads, bias=False)
        self.norm = nn.RMSNorm(inner, eps=EPSILON) if place.causal else GatedNorm(inner)
        self.output = nn.Linear(inner, place.width, bias=False)

    def mlp_width(self, asked: int) -> int:
        return 0

    def slow_parameters(self) -> frozenset[str]:
        return frozenset({"dt_bias", "log_decay", "skip"})

    def forward(self, x: Tokens, mask: Mask) -> Tokens:
        real = mask[..., None]
        z, xbc, *dts = self.input(x.masked_fill(~real, 0.0)).split(self.parts, dim=-1)
        v, *bc = self.cut(self.convolution(xbc))
        dts = [self.time_step(dt).masked_fill(~real, 0.0) for dt in dts]
        selections = map(self.selection, bc[::2], bc[1::2], dts)
        y = selective_scan(v, *zip(selections, self.walks, strict=True))
        return self.finish(y, v, z)

    def cut(self, xbc: Tokens) -> list[Tensor]:
        """Cut what was convolved into the heads of the values, keys and queries."""
        v, *bc = torch.split(xbc, self.convolved, dim=-1)
        return [rearrange(v, "b n (h d) -> b n h d", h=len(self.skip)), *bc]

    def time_step(self, dt: PerHead) -> PerHead:
        """Make the time steps positive."""
        return F.softplus(dt + self.dt_bias)

    def selection(self, b: Shared, c: Shared, dt: PerHead) -> Selection:
        """Say what a scan writes to its states, how it reads them and how fast they fade."""
        return Selection(q=c, k=b, dt=dt, logs=-self.log_decay.exp() * dt)

    def finish(self, y: HeadValues, v: HeadValues, z: Tensor) -> Tokens:
        """Add what the token says itself, norm and gate the result, and project it."""
        if self.place.causal:
            y = y + self.skip[:, None] * v
            mixed = self.norm(y.flatten(-2) * F.silu(z))
        else:
            y = y + self.diagonal(v) * v
            mixed = self.norm(y.flatten(-2)[:, None], z)
        result: Tensor = self.output(mixed)
        return result

    def decoder(self, batch: int) -> Decoder:
        return Mamba2Decoder(self, batch)

    def diagonal(self, v: HeadValues) -> Float[Tensor, "batch length heads 1"]:
        """Weigh the token itself."""
        weights: Tensor = self.skip_map(v.flatten(-2)) + self.skip
        return weights[..., None]


class Mamba2Decoder(Decoder):
    """Carry the last tokens before the convolution, and the state of every head."""

    def __init__(self, mixer: Mamba2, batch: int) -> None:
        self.mixer = mixer
        inner, size, _ = mixer.convolved
        heads = len(mixer.skip)
        self.tail = mixer.convolution.first_tail(batch)
        self.state = mixer.zeros(batch, size, heads, inner // heads)

    def step(self, x: Token) -> Token:
        return self.read(x[:, None])[:, 0]

    def read(self, x: Tokens) -> Tokens:
        mixer = self.mixer
        z, xbc, dt = mixer.input(x).split(mixer.parts, dim=-1)
        convolved, self.tail = mixer.convolution.carry_on(xbc, self.tail)
        v, b, c = mixer.cut(convolved)
        selection = mixer.selection(b, c, mixer.time_step(dt))
        y, self.state = continue_selective_scan(v, selection, mixer.walks[0], self.state)
        return mixer.finish(y, v, z)


def head_size(inner: int, asked: int | Literal["auto"]) -> int:
    """Give the size of a head, which must divide the channels.

    >>> head_size(96, "auto")
    48
    """
    if asked == "auto":
        return max(size for size in range(1, LARGEST_HEAD + 1) if inner % size == 0)
    if inner % asked:
        raise UserError(
            f"heads of {asked} cannot share {inner} channels evenly; choose another head_size"
        )
    return asked


def walks(chunk: int, causal: bool) -> list[Walk]:
    """From the start to the end; in both directions also back, and past the token itself."""
    if causal:
        return [Walk(chunk)]
    return [Walk(chunk, backwards=backwards, strict=True) for backwards in (False, True)]


def first_dt_bias(heads: int) -> Float[Tensor, " heads"]:
    """Draw time steps evenly over the orders of magnitude, and undo the softplus."""
    dt = torch.empty(heads).uniform_(math.log(DT_MIN), math.log(DT_MAX)).exp()
    return dt + torch.log(-torch.expm1(-dt))

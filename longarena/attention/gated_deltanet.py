"""Gated DeltaNet: a memory that fades, and that corrects what it answers to a key.

    q, k, v = silu(convolve(W x))     b_i = sigmoid(W x_i)     a_i = exp(-A softplus(W x_i + dt))
    S_i = a_i (1 - b_i k_i k_i^T) S_{i-1} + b_i k_i v_i^T      y_i = q_i S_i / sqrt(d)
    output(norm(y) * silu(gate(x)))

The decay a_i empties the memory at once, as in Mamba-2, and the delta rule replaces one entry of
it: what k_i pointed to is taken out before v_i is put in. q and k are unit vectors in every head.
In both directions a second set of all parameters reads the row from its end, and the two are added.

Paper:  Yang, Kautz and Hatamizadeh (2024), https://arxiv.org/abs/2412.06464 (section 3)
Cost:   time O(N (c (d + e) + d e)), memory O(N D + (N / c) d e), per head with keys of size d and
        values of size e, in chunks of c.
Choice: what the paper leaves open is as in the authors' code (NVlabs/GatedDeltaNet, and
        flash-linear-attention, which they maintain): no biases, one norm for all heads, A from 0 to
        16 and softplus(dt) from 0.001 to 0.1 at the start.
Choice: keys have 0.75 and values 1.5 of the width, as the authors' class has by default
        (NVlabs/GatedDeltaNet, lit_gpt/gated_delta_net.py), which makes 6 D^2 parameters in one
        direction. They round the size of a head down, we to the nearest.
Choice: a padded token writes nothing, and nothing fades there.
Choice: projections start as everywhere here; the authors' start is smaller.
Choice: A and dt are slow; the authors spare them the weight decay, at the common rate.
"""

from collections.abc import Sequence

import torch
from pydantic import Field
from torch import Tensor, nn

from longarena.attention.base import Mixer, Place
from longarena.attention.cards import CARDS
from longarena.attention.mamba2 import first_dt_bias
from longarena.attention.ops.decoder import Decoder, Token
from longarena.attention.ops.delta_layer import (
    CHUNK,
    Rows,
    Weights,
    delta_layer,
    gates,
    stretches,
)
from longarena.attention.ops.delta_step import Carried, DeltaStep, Maps, start
from longarena.attention.ops.gated_norm import EPSILON
from longarena.attention.ops.projection import projection
from longarena.attention.ops.visible import all_real
from longarena.options import Options
from longarena.shapes import Mask, Tokens

# the limit of A at the start
A_MAX = 16.0


class GatedDeltaNetOptions(Options):
    """`conv` tokens are convolved; keys and values are so many times as wide as `qkv_width`.

    A head has a whole number of channels, the nearest. `chunk` changes nothing but speed.
    """

    conv: int = Field(4, ge=1)
    expand_k: float = Field(0.75, gt=0)
    expand_v: float = Field(1.5, gt=0)
    chunk: int = Field(CHUNK, ge=1)


class DeltaSet(nn.Module):
    """The parameters that read a row in one direction."""

    def __init__(self, place: Place, options: GatedDeltaNetOptions) -> None:
        super().__init__()
        width, heads = place.width, place.num_heads
        keys, values = (
            heads * max(1, round(place.head_size * times))
            for times in (options.expand_k, options.expand_v)
        )
        self.query, self.key = (projection(width, keys) for _ in range(2))
        self.value, self.gate = (projection(width, values) for _ in range(2))
        self.beta, self.decay = (projection(width, heads) for _ in range(2))
        self.query_convolution, self.key_convolution, self.value_convolution = (
            nn.Conv1d(channels, channels, options.conv, groups=channels, bias=False)
            for channels in (keys, keys, values)
        )
        # above 0, which has no logarithm
        self.log_decay = nn.Parameter((A_MAX - torch.empty(heads).uniform_(0, A_MAX)).log())
        self.dt_bias = nn.Parameter(first_dt_bias(heads))
        self.norm = nn.RMSNorm(values // heads, eps=EPSILON)
        self.output = projection(values, width)

    def weights(self) -> tuple[Tensor, ...]:
        """Put the parameters together as the layer takes them."""
        maps = self.query, self.key, self.value, self.gate
        kernels = self.query_convolution, self.key_convolution, self.value_convolution
        return (
            torch.cat([linear.weight for linear in maps]),
            torch.cat([kernel.weight[:, 0] for kernel in kernels]).T,
            self.output.weight * self.norm.weight.repeat(len(self.dt_bias)),
            torch.cat([self.beta.weight, self.decay.weight]),
            -self.log_decay.exp(),
            self.dt_bias,
        )


class GatedDeltaNet(Mixer):
    """The gated delta rule, in one direction or in both."""

    card = CARDS["gated-deltanet"]
    options_type = GatedDeltaNetOptions
    has_own_positions = True

    def __init__(
        self, place: Place, options: GatedDeltaNetOptions, previous: Mixer | None = None
    ) -> None:
        super().__init__(place, options, previous)
        self.chunk = options.chunk
        self.forwards = DeltaSet(place, options)
        if not place.causal:
            self.backwards = DeltaSet(place, options)

    def slow_parameters(self) -> frozenset[str]:
        names = (name for name, _ in self.named_parameters())
        return frozenset(name for name in names if name.endswith(("log_decay", "dt_bias")))

    def forward(self, x: Tokens, mask: Mask) -> Tokens:
        return delta_layer(x, mask, self.weights(), self.chunk)

    def weights(self) -> Weights:
        """Put the sets of parameters together, that of the way back last."""
        sets = [self.forwards] if self.place.causal else [self.forwards, self.backwards]
        tensors = list(map(torch.stack, zip(*(s.weights() for s in sets), strict=True)))
        return Weights(Maps(*tensors[:3]), *tensors[3:])

    def decoder(self, batch: int) -> Decoder:
        return DeltaDecoder(self, batch)


class DeltaDecoder(Decoder):
    """Keep the state of every head, and the last projected tokens."""

    def __init__(self, mixer: GatedDeltaNet, batch: int) -> None:
        self.weights, self.chunk = mixer.weights(), mixer.chunk
        num_heads = mixer.place.num_heads
        self._carry(start(self.weights.maps, num_heads, batch), (batch, num_heads))

    def step(self, x: Token) -> Token:
        return self.read(x[:, None])[:, 0]

    def read(self, x: Tokens) -> Tokens:
        rows = x.transpose(0, 1)
        cut = stretches(len(rows), len(x), self.chunk)
        answers = [self._read(rows[some.tokens], some.chunk) for some in cut]
        return torch.cat(answers).transpose(0, 1)

    def _read(self, rows: Rows, chunk: int) -> Rows:
        maps, shape = self.weights.maps, self.state.shape[:2]
        logits, logs = gates(rows, all_real(rows), self.weights)
        carried = Carried(self.tail.transpose(0, 1)[None], self.state.flatten(0, 1))
        projected = maps.project([rows.flatten(0, 1)], carried.tail)
        step = DeltaStep(projected, logs, maps, chunk)
        self._carry(step.write(logits.sigmoid(), carried), shape)
        return (step.z()[0] @ maps.output[0].T).view(rows.shape)

    def _carry(self, carried: Carried, rows: Sequence[int]) -> None:
        """Take over what was handed over, with the batch first."""
        self.tail = carried.tail[0].transpose(0, 1)
        self.state = torch.unflatten(carried.state, 0, rows)

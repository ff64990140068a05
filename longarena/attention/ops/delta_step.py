"""A stretch of tokens on its way through a layer of the gated delta rule, and back.

    q, k, v = silu(convolve(W x))     y = delta_rule(q, k, v, a, b)
    z = y / sqrt(mean(y^2) + eps) * silu(W x)

A stretch is made of whole chunks. It finds, and hands over, the state of every head, and the last
projected tokens, which the convolution needs. Sets of parameters go through the same operations
side by side.

Paper:  Yang, Kautz and Hatamizadeh (2024), https://arxiv.org/abs/2412.06464 (section 3)
Cost:   time O(n (c (d + e) + d e)), memory O(n P), for n tokens with P projected channels and, per
        head, keys of size d, values of size e and chunks of c.
Choice: tokens stand before rows, so that a stretch of all rows is one matrix.
Choice: no autograd, for a caller whose backward pass walks through the stretches by itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from einops import rearrange
from jaxtyping import Float
from torch import Tensor

from longarena.attention.ops.delta_rule import DeltaRule, State, Written
from longarena.attention.ops.gated_heads import GatedHeads
from longarena.attention.ops.tail_convolution import TailConvolution

PerHead = Float[Tensor, "sets tokens batch heads"]
Projected = Float[Tensor, "sets tail_and_tokens batch projected"]
# without the tail, all rows in one
FlatProjected = Float[Tensor, "sets tokens_and_batch projected"]
FlatValues = Float[Tensor, "sets tokens_and_batch values"]


@dataclass(frozen=True)
class Maps:
    """What the tokens of every set go through.

    `input` has the rows of queries, keys, values and gate, in this order; `output` contains the
    weights of the norm.
    """

    input: Float[Tensor, "sets projected width"]
    kernel: Float[Tensor, "sets size convolved"]
    output: Float[Tensor, "sets width values"]

    @property
    def tensors(self) -> tuple[Tensor, Tensor, Tensor]:
        """All of them, in order."""
        return self.input, self.kernel, self.output

    def project(self, tokens: Sequence[Tensor], tail: Tensor) -> Projected:
        """Apply the input map to the tokens of every set, and put them behind their tail."""
        (sets, width, batch, convolved), rows = tail.shape, len(tokens[0])
        y = tail.new_empty(sets, width + rows // batch, batch, self.input.shape[1])
        y[:, :width, :, :convolved] = tail
        # one by one, for a batch of two large products is slower than both
        for part, one, out in zip(tokens, self.input, y[:, width:].flatten(1, 2), strict=True):
            torch.mm(part, one.T, out=out)
        return y


@dataclass(frozen=True)
class Carried:
    """What a stretch hands over: the last projected tokens, and the state of every head."""

    tail: Float[Tensor, "sets tail batch convolved"]
    state: State


def start(maps: Maps, num_heads: int, batch: int) -> Carried:
    """Make what the first stretch finds: nothing."""
    (sets, size, convolved), values = maps.kernel.shape, maps.output.shape[2]
    tail = maps.kernel.new_zeros(sets, size - 1, batch, convolved)
    key_size = (convolved - values) // (2 * num_heads)
    return Carried(tail, tail.new_zeros(sets * batch * num_heads, key_size, values // num_heads))


@dataclass(frozen=True)
class StepGradients:
    """The gradients of a stretch; that of b is multiplied by b. `z` is its output again."""

    projected: FlatProjected
    kernel: Float[Tensor, "sets size convolved"]
    z: FlatValues
    b: PerHead
    logs: PerHead
    carried: Carried


class DeltaStep:
    """A stretch on its way through the layer, and its gradients on their way back."""

    def __init__(self, projected: Projected, logs: PerHead, maps: Maps, chunk: int) -> None:
        self.projected, self.chunk, self.num_heads = projected, chunk, logs.shape[-1]
        convolved, values = maps.kernel.shape[2], maps.output.shape[2]
        self.sizes = [convolved - values, values]
        qkv, gate = torch.split(projected, [convolved, values], dim=-1)
        self.gate = gate[:, len(maps.kernel[0]) - 1 :]
        self.convolution = TailConvolution(qkv, maps.kernel)
        qk, self.v_sums = torch.split(self.convolution.sums, self.sizes, dim=-1)
        self.rule = DeltaRule(self._queries_and_keys(F.silu(qk)), self._lanes(logs)[..., 0])

    def write(self, b: PerHead, carried: Carried) -> Carried:
        """Write into the memory, and return what the next stretch finds."""
        v, (_, size, _, channels) = self._lanes(F.silu(self.v_sums)), carried.tail.shape
        self.memory = self.rule.write(v, self._lanes(b)[..., 0], carried.state)
        tail = self.projected[:, self.projected.shape[1] - size :, :, :channels]
        return Carried(tail.clone(), self.memory.states[-1].clone())

    def remember(self, written: Written, state: State) -> None:
        """Make the memory again from what was written into it."""
        self.memory = self.rule.remember(written, state)

    def z(self) -> FlatValues:
        """Norm and gate the answers."""
        return self._gated().z().flatten(4).flatten(1, 3)

    def back(self, dz: FlatValues, dnext: Carried) -> StepGradients:
        """Return the gradients of all that goes in, and z again."""
        gated = self._gated()
        z, danswers, dgate = gated.back(dz.view(gated.gate.shape))
        lanes = rearrange(danswers, "s m c b h d -> (m s b h) c d")
        found = self.memory.back(lanes, dnext.state)

        dconvolved = torch.empty_like(self.convolution.sums)
        dqk, dv = torch.split(dconvolved, self.sizes, dim=-1)
        self._queries_and_keys(dqk).copy_(found.qk)
        self._lanes(dv).copy_(found.v)
        dprojected = torch.empty_like(self.projected)
        convolved, tail = sum(self.sizes), dnext.tail.shape[1]
        dprojected[:, tail:, :, convolved:] = dgate.flatten(4).flatten(1, 2)
        dqkv = dprojected[..., :convolved]
        dkernel = self.convolution.back(dconvolved, dqkv)
        dqkv[:, dqkv.shape[1] - tail :] += dnext.tail
        db, dlogs = (rearrange(t, "m s b h c -> s (m c) b h") for t in (found.b, found.logs))
        return StepGradients(
            dprojected[:, tail:].flatten(1, 2),
            dkernel,
            z.flatten(4).flatten(1, 3),
            db,
            dlogs,
            Carried(dqkv[:, :tail].clone(), found.state),
        )

    def _gated(self) -> GatedHeads:
        y = self.memory.y().view(*self.rule.shape, -1)
        return GatedHeads(
            rearrange(y, "m s b h c d -> s m c b h d"),
            rearrange(self.gate, "s (m c) b (h d) -> s m c b h d", c=self.chunk, h=self.num_heads),
        )

    def _queries_and_keys(self, t: Tensor) -> Tensor:
        """Cut into chunks, queries and keys, and heads."""
        return rearrange(
            t, "s (m c) b (two h d) -> m s b h two c d", c=self.chunk, two=2, h=self.num_heads
        )

    def _lanes(self, t: Tensor) -> Tensor:
        """Cut into chunks and heads."""
        return rearrange(t, "s (m c) b (h d) -> m s b h c d", c=self.chunk, h=self.num_heads)

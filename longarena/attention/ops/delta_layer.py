"""A layer of the gated delta rule, walked through in chunks: from tokens to tokens.

    q, k, v = silu(convolve(W x))     b = sigmoid(W x)     log a = slope softplus(W x + bias)
    y = delta_rule(q, k, v, a, b)     z = y / sqrt(mean(y^2) + eps) * silu(W x)     output z

Each chunk goes all the way before the next one begins. It hands over the state of every head, and
the last projected tokens, which the convolution needs. Of two sets of parameters the first walks
from the start to the end and the second back, and the results are added.

Paper:  Yang, Kautz and Hatamizadeh (2024), https://arxiv.org/abs/2412.06464 (section 3)
Cost:   time O(N (D P + c (d + e) + d e)), memory O(N D + (N / c) d e), for P projected channels
        and, per head, keys of size d, values of size e and chunks of c.
Choice: a backward pass of our own, which keeps the tokens and what the chunks hand over, and makes
        all else again: a peak of 160 MiB for four rows of 4,096 tokens, 256 channels and 4 heads.
        In processor time, with one thread on a busy machine, autograd inside the chunks takes 18 %
        longer and 91 MiB more; keeping the projected tokens saves 2 to 8 % for 196 MiB.
Choice: two sets go through the same operations side by side, which takes at most a tenth less time
        than one after the other.
Choice: chunks of 64. Chunks of 32 take 8 % longer, and chunks of 128 take 35 %.
"""

from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from einops import rearrange
from jaxtyping import Bool, Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from longarena.attention.ops.delta_rule import DeltaChunk
from longarena.attention.ops.gated_heads import GatedHeads
from longarena.attention.ops.tail_convolution import TailConvolution
from longarena.shapes import Mask, Tokens

CHUNK = 64

Parts = Float[Tensor, "sets batch tokens width"]
PartMasks = Bool[Tensor, "sets batch tokens"]
Gate = Float[Tensor, "sets batch tokens heads"]


@dataclass(frozen=True)
class Weights:
    """The parameters, in one set or two.

    `input` has the rows of queries, keys, values, gate, b and decay, in this order; no `slope` is
    above 0; `output` contains the weights of the norm.
    """

    input: Float[Tensor, "sets projected width"]
    kernel: Float[Tensor, "sets size convolved"]
    slope: Float[Tensor, "sets heads"]
    bias: Float[Tensor, "sets heads"]
    output: Float[Tensor, "sets width values"]

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """All of them, in order."""
        return self.input, self.kernel, self.slope, self.bias, self.output

    @property
    def sizes(self) -> list[int]:
        """The channels that are convolved, of the gate, of b and of the decay."""
        heads = self.slope.shape[1]
        return [self.kernel.shape[2], self.output.shape[2], heads, heads]


@dataclass(frozen=True)
class Carried:
    """What a chunk hands over: the last projected tokens, and the state of every head."""

    tail: Float[Tensor, "sets batch tail convolved"]
    state: Float[Tensor, "lanes size value_size"]


def start(weights: Weights, batch: int) -> Carried:
    """Make what the first chunk finds: nothing."""
    convolved, values, heads, _ = weights.sizes
    sets, size, _ = weights.kernel.shape
    tail = weights.input.new_zeros(sets, batch, size - 1, convolved)
    key_size = (convolved - values) // (2 * heads)
    return Carried(tail, tail.new_zeros(sets * batch * heads, key_size, values // heads))


def delta_layer(x: Tokens, mask: Mask, weights: Weights, chunk: int = CHUNK) -> Tokens:
    """Mix the tokens; the size of a chunk changes nothing but the speed."""
    dtype = torch.promote_types(x.dtype, torch.float32)
    with torch.autocast(x.device.type, enabled=False):
        real = x.to(dtype).masked_fill(~mask[..., None], 0.0)
        y: Tensor = _Walk.apply(  # type: ignore[no-untyped-call]
            chunk, mask, real, *(t.to(dtype) for t in weights.tensors)
        )
    return y.to(x.dtype)


class DeltaStep:
    """One chunk on its way through the layer, and its gradients on their way back."""

    def __init__(self, x: Parts, mask: PartMasks, carried: Carried, weights: Weights) -> None:
        self.x, self.weights = x, weights
        heads = weights.slope.shape[1]
        projected = _map(x, weights.input.mT)
        qkv, gate, b, decay = torch.split(projected, weights.sizes, dim=-1)
        self.gates = _Gates(b, decay, mask, weights)
        self.convolution = TailConvolution(qkv, carried.tail, weights.kernel)
        qk, v = self._queries_keys_and_values(self.convolution.y())
        self.rule = DeltaChunk(
            qk,
            v,
            self.gates.b.flatten(0, 1),
            self.gates.logs.flatten(0, 1),
            carried.state,
        )
        answers = self.rule.y.view(*x.shape[:2], heads, *self.rule.y.shape[1:])
        gates = rearrange(gate, "s b n (h d) -> s b n h d", h=heads)
        self.heads = GatedHeads(answers.transpose(2, 3), gates)

    def _queries_keys_and_values(self, convolved: Parts) -> tuple[Tensor, Tensor]:
        """Cut the convolved channels into queries and keys, values, and all into heads."""
        channels, values, heads, _ = self.weights.sizes
        qk, v = torch.split(convolved, [channels - values, values], dim=-1)
        return (
            rearrange(qk, "s b n (two h d) -> (s b) n two h d", two=2, h=heads),
            rearrange(v, "s b n (h d) -> (s b) n h d", h=heads),
        )

    def y(self) -> Parts:
        """Norm the answers, gate them, and map them to tokens."""
        return _map(self.heads.z().flatten(-2), self.weights.output.mT)

    def next(self) -> Carried:
        """Make what the next chunk finds."""
        return Carried(self.convolution.next_tail(), self.rule.next_state())

    def back(self, dy: Parts, dnext: Carried, gradients: Weights) -> tuple[Parts, Carried]:
        """Return the gradients of tokens and of what was carried, and add up those of weights."""
        dz = _map(dy, self.weights.output).view(self.heads.gate.shape)
        z, danswers, dgate = self.heads.back(dz)
        _add_products(gradients.output, dy, z.flatten(-2))
        found = self.rule.back(danswers.transpose(2, 3).reshape(self.rule.y.shape), dnext.state)
        db, ddecay = self.gates.back(found.b, found.logs, gradients)

        dprojected = self.x.new_empty(*self.x.shape[:-1], self.weights.input.shape[1])
        dqkv, *others = torch.split(dprojected, self.weights.sizes, dim=-1)
        for part, gradient in zip(others, (dgate.flatten(-2), db, ddecay), strict=True):
            part.copy_(gradient)
        sums = self.convolution.sums
        dconvolved = torch.empty_like(sums, memory_format=torch.contiguous_format)
        dqk, dv = self._queries_keys_and_values(dconvolved)
        dqk.copy_(found.qk)
        dv.copy_(found.v)
        dtail, dkernel = self.convolution.back(dconvolved, dnext.tail, dqkv)
        gradients.kernel.add_(dkernel)
        _add_products(gradients.input, dprojected, self.x)
        return _map(dprojected, self.weights.input), Carried(dtail, found.state)


class _Gates:
    """The share of the error that is corrected, and the logarithm of the decay.

    Both are 0 at padding, so that nothing is written there and nothing fades.
    """

    def __init__(self, b: Gate, decay: Gate, mask: PartMasks, weights: Weights) -> None:
        self.real = mask[:, :, None].to(b.dtype)
        self.slope = weights.slope[:, None, :, None]
        self.b = b.mT.sigmoid().mul_(self.real)
        self.dt = decay.mT + weights.bias[:, None, :, None]
        self.softplus = F.softplus(self.dt).mul_(self.real)
        self.logs = self.softplus * self.slope

    def back(self, db: Tensor, dlogs: Tensor, gradients: Weights) -> tuple[Gate, Gate]:
        """Return the gradients before sigmoid and softplus, and add up those of slope and bias."""
        dlogs = dlogs.view(self.logs.shape) * self.real
        gradients.slope.add_((dlogs * self.softplus).sum((1, 3)))
        ddt = self.dt.sigmoid().mul_(dlogs).mul_(self.slope)
        gradients.bias.add_(ddt.sum((1, 3)))
        return (db.view(self.b.shape) * (1 - self.b)).mT, ddt.mT


@dataclass(frozen=True)
class _Stretch:
    """The tokens of a chunk: counted from the start for the first set, from the end for another."""

    start: int
    stop: int
    length: int

    @property
    def mirrored(self) -> slice:
        return slice(self.length - self.stop, self.length - self.start)

    def take(self, x: Tensor, like: Weights) -> Tensor:
        """Cut the chunk out of the rows, in the order in which each set walks."""
        ways = [x[:, self.start : self.stop], x[:, self.mirrored].flip(1)]
        return torch.stack(ways[: len(like.input)])

    def add(self, parts: Tensor, total: Tensor) -> None:
        """Add what each set has made of its chunk."""
        total[:, self.start : self.stop] += parts[0]
        for part in parts[1:]:
            total[:, self.mirrored] += part.flip(1)


def stretches(length: int, chunk: int) -> list[_Stretch]:
    """Cut a row into chunks; the last one may be shorter."""
    starts = range(0, length, chunk)
    return [_Stretch(start, min(start + chunk, length), length) for start in starts]


class _Walk(torch.autograd.Function):
    """Go from chunk to chunk, and with the gradients back."""

    @staticmethod
    def forward(ctx: Any, chunk: int, mask: Tensor, x: Tensor, *tensors: Tensor) -> Tensor:
        weights, y = Weights(*tensors), torch.zeros_like(x)
        carried, kept = start(weights, len(x)), []
        for stretch in stretches(x.shape[1], chunk):
            kept += [carried.tail, carried.state]
            tokens, real = (stretch.take(t, weights) for t in (x, mask))
            step = DeltaStep(tokens, real, carried, weights)
            stretch.add(step.y(), y)
            carried = step.next()
        ctx.chunk = chunk
        ctx.save_for_backward(mask, x, *tensors, *kept)
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor | None, ...]:
        mask, x, *saved = ctx.saved_tensors
        weights, kept = Weights(*saved[:5]), saved[5:]
        gradients = Weights(*(torch.zeros_like(t) for t in weights.tensors))
        dx, dnext = torch.zeros_like(x), start(weights, len(x))
        for stretch in reversed(stretches(x.shape[1], ctx.chunk)):
            state, tail = kept.pop(), kept.pop()
            tokens, real, given = (stretch.take(t, weights) for t in (x, mask, dy))
            step = DeltaStep(tokens, real, Carried(tail, state), weights)
            dtokens, dnext = step.back(given, dnext, gradients)
            stretch.add(dtokens, dx)
        return None, None, dx, *gradients.tensors


def _map(
    x: Parts, maps: Float[Tensor, "sets width projected"]
) -> Float[Tensor, "sets batch tokens projected"]:
    """Apply to each set a linear map of its own."""
    y = x.new_empty(*x.shape[:-1], maps.shape[-1])
    # one by one, for a batch of two large products is slower than both
    for part, one, out in zip(x.flatten(1, 2), maps, y.flatten(1, 2), strict=True):
        torch.mm(part, one, out=out)
    return y


def _add_products(
    total: Float[Tensor, "sets left right"],
    left: Float[Tensor, "sets batch tokens left"],
    right: Float[Tensor, "sets batch tokens right"],
) -> None:
    """Add up the products over all tokens: the gradient of a map."""
    for out, one, other in zip(total, left.flatten(1, 2), right.flatten(1, 2), strict=True):
        out.addmm_(one.T, other)

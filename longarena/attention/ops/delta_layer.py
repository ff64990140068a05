"""A layer of the gated delta rule, walked through in stretches of chunks: from tokens to tokens.

    q, k, v = silu(convolve(W x))     b = sigmoid(W x)     log a = slope softplus(W x + bias)
    y = delta_rule(q, k, v, a, b)     z = y / sqrt(mean(y^2) + eps) * silu(W x)     output z

Each stretch goes all the way before the next one begins. It hands over the state of every head, and
the last projected tokens, which the convolution needs. Of two sets of parameters the first walks
from the start to the end and the second back, and the results are added.

Paper:  Yang, Kautz and Hatamizadeh (2024), https://arxiv.org/abs/2412.06464 (section 3)
Cost:   time O(N (D P + c (d + e) + d e)), memory O(N (D + P)), for P projected channels and, per
        head, keys of size d, values of size e and chunks of c.
Choice: a backward pass of our own. It finds the tokens, their projections, what was written into
        the memory and how, and the state before each stretch, and makes all else again.
Choice: two sets go through the same operations side by side, and so do the chunks of a stretch.
Choice: chunks of 32. In processor time chunks of 16 take 1 % longer and chunks of 64 take 5 %.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
import torch.nn.functional as F
from einops import rearrange
from jaxtyping import Bool, Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from longarena.attention.ops.delta_rule import Written
from longarena.attention.ops.delta_step import DeltaStep, Maps, start
from longarena.shapes import Mask, Tokens

CHUNK = 32
# so many tokens of all rows make a stretch, or else one chunk: fewer are slower, more need memory
TOKENS_OF_STRETCH = 512

Rows = Float[Tensor, "length batch width"]
# in the order in which each set walks
PerHead = Float[Tensor, "sets length batch heads"]


@dataclass(frozen=True)
class Weights:
    """The parameters, in one set or two; `gates` has the rows of b and then those of the decay.

    No `slope` is above 0.
    """

    maps: Maps
    gates: Float[Tensor, "sets both_gates width"]
    slope: Float[Tensor, "sets heads"]
    bias: Float[Tensor, "sets heads"]

    def to(self, dtype: torch.dtype) -> "Weights":
        """Convert all of them."""
        maps = Maps(*(t.to(dtype) for t in self.maps.tensors))
        return Weights(maps, *(t.to(dtype) for t in (self.gates, self.slope, self.bias)))


def delta_layer(x: Tokens, mask: Mask, weights: Weights, chunk: int = CHUNK) -> Tokens:
    """Mix the tokens; the size of a chunk changes nothing but the speed."""
    dtype = torch.promote_types(x.dtype, torch.float32)
    with torch.autocast(x.device.type, enabled=False):
        weights = weights.to(dtype)
        real = x.to(dtype).masked_fill(~mask[..., None], 0.0)
        rows = real.transpose(0, 1).contiguous()
        y: Tensor = _Walk.apply(  # type: ignore[no-untyped-call]
            chunk, rows, *gates(rows, mask.T, weights), *weights.maps.tensors
        )
    return y.transpose(0, 1).to(x.dtype)


def gates(x: Rows, mask: Bool[Tensor, "length batch"], weights: Weights) -> tuple[PerHead, PerHead]:
    """Return b before its sigmoid, and the logarithms of the decays.

    At padding b is 0 and nothing decays, so nothing is written there and nothing fades.
    """
    sets = len(weights.gates)
    both = rearrange(F.linear(x, weights.gates.flatten(0, 1)), "n b (s g) -> s n b g", s=sets)
    real = mask.expand(sets, *mask.shape)[..., None]
    both, real = (torch.stack([t[0], *t[1:].flip(1)]) for t in (both, real))
    logits, decay = both.chunk(2, dim=-1)
    logs = F.softplus(decay + weights.bias[:, None, None]) * weights.slope[:, None, None]
    return logits.masked_fill(~real, -math.inf), logs.masked_fill(~real, 0.0)


@dataclass(frozen=True)
class Stretch:
    """Some tokens: counted from the start for the first set, from the end for another."""

    start: int
    stop: int
    length: int
    chunk: int

    @property
    def tokens(self) -> slice:
        """Where they stand on the way of every set."""
        return slice(self.start, self.stop)

    @property
    def mirrored(self) -> slice:
        return slice(self.length - self.stop, self.length - self.start)

    def take(self, x: Rows, sets: int) -> list[Float[Tensor, "tokens_and_batch width"]]:
        """Cut the stretch out of the rows, in the order in which each set walks."""
        ways = [x[self.tokens], x[self.mirrored].flip(0)]
        return [way.flatten(0, 1) for way in ways[:sets]]

    def add(
        self,
        parts: Float[Tensor, "sets tokens_and_batch inner"],
        maps: Float[Tensor, "sets inner width"],
        total: Rows,
    ) -> None:
        """Map what each set has made of its stretch, and add it."""
        total[self.tokens].flatten(0, 1).addmm_(parts[0], maps[0])
        for part, one in zip(parts[1:], maps[1:], strict=True):
            mapped = (part @ one).view(-1, *total.shape[1:])
            total[self.mirrored] += mapped.flip(0)


def stretches(length: int, batch: int, chunk: int) -> list[Stretch]:
    """Cut rows into stretches of whole chunks; a shorter chunk may follow."""
    whole = length - length % chunk
    step = max(1, TOKENS_OF_STRETCH // (batch * chunk)) * chunk
    cuts = [*range(0, whole, step), whole]
    found = [Stretch(a, b, length, chunk) for a, b in pairwise(cuts)]
    rest = [Stretch(whole, length, length, length - whole)] if whole < length else []
    return found + rest


class _Walk(torch.autograd.Function):
    """Go from stretch to stretch, and with the gradients back."""

    @staticmethod
    def forward(
        ctx: Any, chunk: int, x: Tensor, logits: Tensor, logs: Tensor, *tensors: Tensor
    ) -> Tensor:
        maps, b, y = Maps(*tensors), logits.sigmoid(), torch.zeros_like(x)
        sets, _, batch, num_heads = b.shape
        carried, kept = start(maps, num_heads, batch), []
        for stretch in stretches(len(x), batch, chunk):
            projected = maps.project(stretch.take(x, sets), carried.tail)
            step = DeltaStep(projected, logs[:, stretch.tokens], maps, stretch.chunk)
            state, carried = carried.state, step.write(b[:, stretch.tokens], carried)
            written = step.memory.written
            if any(ctx.needs_input_grad):
                kept += [projected, state, written.values, written.inverse]
            stretch.add(step.z(), maps.output.mT, y)
        ctx.chunk = chunk
        ctx.save_for_backward(x, b, logs, *tensors, *kept)
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor | None, ...]:
        x, b, logs, *saved = ctx.saved_tensors
        maps, kept = Maps(*saved[:3]), saved[3:]
        gradients = Maps(*(torch.zeros_like(t) for t in maps.tensors))
        dx, db, dlogs = (torch.zeros_like(t) for t in (x, b, logs))
        sets, _, batch, num_heads = b.shape
        dnext = start(maps, num_heads, batch)
        for stretch in reversed(stretches(len(x), batch, ctx.chunk)):
            inverse, values, state, projected = (kept.pop() for _ in range(4))
            step = DeltaStep(projected, logs[:, stretch.tokens], maps, stretch.chunk)
            step.remember(Written(values, inverse), state)
            given, tokens = (stretch.take(t, sets) for t in (dy, x))
            found = step.back(_map(given, maps.output), dnext)
            _add_products(gradients.output, given, found.z)
            _add_products(gradients.input, found.projected, tokens)
            gradients.kernel.add_(found.kernel)
            db[:, stretch.tokens], dlogs[:, stretch.tokens] = found.b, found.logs
            stretch.add(found.projected, maps.input, dx)
            dnext = found.carried
        return None, dx, db.mul_(1 - b), dlogs, *gradients.tensors


def _map(
    x: Sequence[Tensor], maps: Float[Tensor, "sets width values"]
) -> Float[Tensor, "sets rows values"]:
    """Apply to each set a linear map of its own."""
    y = maps.new_empty(len(maps), len(x[0]), maps.shape[2])
    # one by one, for a batch of two large products is slower than both
    for part, one, out in zip(x, maps, y, strict=True):
        torch.mm(part, one, out=out)
    return y


def _add_products(
    total: Float[Tensor, "sets left right"], left: Iterable[Tensor], right: Iterable[Tensor]
) -> None:
    """Add up the products over all tokens: the gradient of a map."""
    for out, one, other in zip(total, left, right, strict=True):
        out.addmm_(one.T, other)

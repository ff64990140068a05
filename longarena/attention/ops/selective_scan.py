"""The scan of a selective state space: heads of values, with queries and keys that they share.

    S_i = a_i S_{i-1} + k_i (dt_i v_i)^T        y_i = q_i S_i        a_i one number per head

or, reversed, from the end to the start, with S_{i+1} in the place of S_{i-1}. The row is cut into
chunks, and they are walked through one by one. Inside a chunk the decayed products of queries and
keys are written out, as in attention; what lies outside arrives as one state S:

    y_i = sum_j (q_i . k_j) (A_i / A_j) dt_j v_j + A_i q_i S        A_i = a_1 ... a_i

Paper:  Dao and Gu (2024), https://arxiv.org/abs/2405.21060 (section 6)
Cost:   time O(N (c + S) E), memory O(N E + (N / c) S E), for E channels in all heads, keys of size
        S and chunks of c.
Choice: logarithms of decays are added in double precision. In single precision a token that
        forgets nearly everything would blur the decays of its neighbours.
Choice: a gradient of our own, which keeps the inputs and the states between chunks, and makes all
        else again.
"""

from dataclasses import dataclass
from typing import Any

import torch
from einops import rearrange
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

CHUNK = 64

Shared = Float[Tensor, "batch length state"]
PerHead = Float[Tensor, "batch length heads"]
HeadValues = Float[Tensor, "batch length heads size"]


@dataclass(frozen=True)
class Selection:
    """Queries, keys, weights of the values, and logarithms of decays, of which none is above 0."""

    q: Shared
    k: Shared
    dt: PerHead
    logs: PerHead


@dataclass(frozen=True)
class Walk:
    """Chunks of `size` tokens, from the start to the end or `backwards`."""

    size: int = CHUNK
    backwards: bool = False

    def chunks(self, length: int) -> list[slice]:
        """Cut a row; the chunk at its end may be shorter."""
        cuts = [slice(first, first + self.size) for first in range(0, length, self.size)]
        return cuts[::-1] if self.backwards else cuts

    def sums(self, x: Tensor) -> Tensor:
        """Add up the tokens of a chunk, up to each of them."""
        return x.flip(1).cumsum(1).flip(1) if self.backwards else x.cumsum(1)

    def rests(self, x: Tensor) -> Tensor:
        """Add up the tokens of a chunk, from each of them on."""
        return x.cumsum(1) if self.backwards else x.flip(1).cumsum(1).flip(1)

    def last(self, x: Tensor) -> Tensor:
        """Take the token at which a chunk is left."""
        return x[:, :1] if self.backwards else x[:, -1:]

    def visible(self, products: Tensor) -> Tensor:
        """Keep what a token sees of its chunk: itself and what came before it."""
        return products.triu_() if self.backwards else products.tril_()


def selective_scan(v: HeadValues, selection: Selection, walk: Walk) -> HeadValues:
    """Read at every token the decayed sum of it and of those before it, on this walk.

    >>> one = torch.ones(1, 3, 1)
    >>> v = torch.tensor([8.0, 0.0, 0.0]).reshape(1, 3, 1, 1)
    >>> selection = Selection(q=one, k=one, dt=one, logs=torch.log(one / 2))
    >>> selective_scan(v, selection, Walk()).flatten().tolist()
    [8.0, 4.0, 2.0]
    """
    dtype = torch.promote_types(v.dtype, torch.float32)
    inputs = (v, selection.q, selection.k, selection.dt, selection.logs)
    with torch.autocast(v.device.type, enabled=False):
        y: Tensor = _Scan.apply(  # type: ignore[no-untyped-call]
            *(t.to(dtype) for t in inputs), walk
        )
    return y.to(v.dtype)


class _Chunk:
    """A chunk of the inputs, and what both passes make of it."""

    def __init__(self, place: slice, walk: Walk, inputs: tuple[Tensor, ...]) -> None:
        self.v, self.q, self.k, dt, logs = (t[:, place] for t in inputs)
        self.dt = dt[..., None]
        self.u = self.v * self.dt
        sums = walk.sums(logs.double())
        by_head = sums.mT
        between = (by_head[..., :, None] - by_head[..., None, :]).to(logs.dtype)
        # a token that comes later is not visible, but its decay must not overflow
        self.between = between.clamp_(max=0).exp_()
        self.through, self.after = (
            t.exp().to(logs.dtype)[..., None] for t in (sums, walk.last(sums) - sums)
        )
        self.whole = walk.last(self.through)
        self.scores = walk.visible(self.q @ self.k.mT)[:, None] * self.between

    def read(self, state: Tensor) -> Tensor:
        """Read the state that arrives, as if nothing of it had faded."""
        return (self.q @ state.flatten(-2)).view(self.v.shape)


class _Scan(torch.autograd.Function):
    """Carry the state forward from chunk to chunk, and its gradient back."""

    @staticmethod
    def forward(ctx: Any, v: Tensor, *others: Any) -> Tensor:
        inputs, walk = (v, *others[:-1]), others[-1]
        y = torch.empty(v.shape, dtype=v.dtype, device=v.device)
        state = v.new_zeros(v.shape[0], others[0].shape[-1], *v.shape[2:])
        states = []
        for place in walk.chunks(v.shape[1]):
            chunk = _Chunk(place, walk, inputs)
            inside = chunk.scores @ chunk.u.transpose(1, 2)
            torch.addcmul(inside.transpose(1, 2), chunk.read(state), chunk.through, out=y[:, place])
            states.append(state)
            added = chunk.k.mT @ (chunk.u * chunk.after).flatten(-2)
            state = torch.addcmul(added.view(state.shape), chunk.whole, state)
        ctx.save_for_backward(*inputs, *states)
        ctx.walk = walk
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor | None, ...]:
        inputs, states = ctx.saved_tensors[:5], ctx.saved_tensors[5:]
        walk: Walk = ctx.walk
        gradients = [torch.empty(t.shape, dtype=t.dtype, device=t.device) for t in inputs]
        state = dstate = torch.zeros_like(states[0])
        places = walk.chunks(dy.shape[1])
        for place, before in zip(places[::-1], states[::-1], strict=True):
            chunk = _Chunk(place, walk, inputs)
            found = _chunk_gradients(chunk, walk, dy[:, place], (before, state, dstate))
            for gradient, part in zip(gradients, found[:-1], strict=True):
                gradient[:, place] = part
            state, dstate = before, found[-1]
        return *gradients, None


def _chunk_gradients(
    chunk: _Chunk, walk: Walk, dy: Tensor, states: tuple[Tensor, Tensor, Tensor]
) -> tuple[Tensor, ...]:
    """Find the gradients of v, q, k, dt, logs and of the state that arrives.

    The states are that which arrives, that which leaves, and the gradient of the latter.
    """
    arriving, leaving, dleaving = states
    # what came with the state, and what leaves with it
    faded = dy * chunk.through
    dsums = (faded * chunk.read(arriving)).sum(-1)
    dq = faded.flatten(-2) @ arriving.flatten(-2).mT
    darriving = (chunk.q.mT @ faded.flatten(-2)).view(arriving.shape)
    darriving.addcmul_(chunk.whole, dleaving)
    dk = (chunk.u * chunk.after).flatten(-2) @ dleaving.flatten(-2).mT
    du = (chunk.k @ dleaving.flatten(-2)).view(dy.shape).mul_(chunk.after)
    dwhole = (dleaving * leaving).sum((1, 3))[:, None]

    # what stayed inside
    dy, u = (rearrange(t, "b n h d -> b h n d").contiguous() for t in (dy, chunk.u))
    du += (chunk.scores.mT @ dy).transpose(1, 2)
    dscores = dy @ u.mT
    dsums += (chunk.scores * dscores).sum(-1).mT
    dproducts = walk.visible(dscores.mul_(chunk.between).sum(1))
    dq.baddbmm_(dproducts, chunk.k)
    dk.baddbmm_(dproducts.mT, chunk.q)

    ddt = (du * chunk.v).sum(-1)
    # a decay acts on whatever passes it: read after it, and written before it
    dlogs = walk.rests(dsums - ddt * chunk.dt[..., 0]) + dwhole
    return du.mul_(chunk.dt), dq, dk, ddt, dlogs, darriving

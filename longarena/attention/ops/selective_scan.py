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

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

CHUNK = 64

Shared = Float[Tensor, "batch length state"]
PerHead = Float[Tensor, "batch length heads"]
HeadValues = Float[Tensor, "batch length heads size"]
State = Float[Tensor, "batch state heads size"]


@dataclass(frozen=True)
class Selection:
    """Queries, keys, weights of the values, and logarithms of decays, of which none is above 0."""

    q: Shared
    k: Shared
    dt: PerHead
    logs: PerHead


@dataclass(frozen=True)
class Walk:
    """Chunks of `size` tokens, from the start to the end or `backwards`.

    On a `strict` walk a token reads what its neighbour would, so it does not see itself.
    """

    size: int = CHUNK
    backwards: bool = False
    strict: bool = False

    def chunks(self, length: int) -> list[slice]:
        """Cut a row; the chunk at its end may be shorter."""
        starts = range(0, length, self.size)
        cuts = [slice(start, min(start + self.size, length)) for start in starts]
        return cuts[::-1] if self.backwards else cuts

    def answers(self, place: slice) -> slice:
        """Say where the answers of a chunk go, in a row with a spare token at both ends."""
        shift = 1 + (-1 if self.backwards else 1) * self.strict
        return slice(place.start + shift, place.stop + shift)

    def sums(self, x: Tensor) -> Tensor:
        """Add up the tokens of a chunk, up to each of them."""
        return x.flip(1).cumsum(1).flip(1) if self.backwards else x.cumsum(1)

    def last(self, x: Tensor) -> Tensor:
        """Take the token at which a chunk is left."""
        return x[:, :1] if self.backwards else x[:, -1:]

    def earlier(self, like: Tensor) -> Tensor:
        """Mark, for every token of a chunk (batch, tokens, ...), those that came before it."""
        pairs = like.new_ones(like.shape[1], like.shape[1])
        return pairs.triu_(1) if self.backwards else pairs.tril_(-1)

    def visible(self, products: Tensor) -> Tensor:
        """Keep what a token sees of its chunk: itself and what came before it."""
        return products.triu_() if self.backwards else products.tril_()


def selective_scan(v: HeadValues, *scans: tuple[Selection, Walk]) -> HeadValues:
    """Read at every token the decayed sum of it and of those before it; add up all scans.

    >>> one = torch.ones(1, 3, 1)
    >>> v = torch.tensor([8.0, 0.0, 0.0]).reshape(1, 3, 1, 1)
    >>> selection = Selection(q=one, k=one, dt=one, logs=torch.log(one / 2))
    >>> selective_scan(v, (selection, Walk())).flatten().tolist()
    [8.0, 4.0, 2.0]
    >>> selective_scan(v, (selection, Walk(strict=True))).flatten().tolist()
    [0.0, 8.0, 4.0]
    """
    dtype = torch.promote_types(v.dtype, torch.float32)
    selected = [t for s, _ in scans for t in (s.q, s.k, s.dt, s.logs)]
    with torch.autocast(v.device.type, enabled=False):
        y: Tensor = _Scan.apply(  # type: ignore[no-untyped-call]
            [walk for _, walk in scans], *(t.to(dtype) for t in (v, *selected))
        )
    return y[:, 1:-1].to(v.dtype)


def continue_selective_scan(
    v: HeadValues, selection: Selection, walk: Walk, before: State
) -> tuple[HeadValues, State]:
    """Go on with a scan from the start; return the state after the last token, too.

    There is no gradient.
    """
    selected = selection.q, selection.k, selection.dt, selection.logs
    inputs = [t.to(before.dtype) for t in (v, *selected)]
    if v.shape[1] == 1:
        value, q, k, dt, logs = (t[:, 0] for t in inputs)
        added = torch.einsum("bs,bhd->bshd", k, dt[..., None] * value)
        state = torch.addcmul(added, logs.exp()[:, None, :, None], before)
        return torch.einsum("bs,bshd->bhd", q, state)[:, None].to(v.dtype), state
    y = before.new_zeros(len(v), v.shape[1] + 2, *v.shape[2:])
    state = _scan(inputs, walk, y, before)[-1]
    return y[:, 1:-1].to(v.dtype), state


class _Chunk:
    """A chunk of the inputs, and what both passes make of it."""

    def __init__(self, place: slice, walk: Walk, inputs: Sequence[Tensor]) -> None:
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
    def forward(ctx: Any, walks: list[Walk], v: Tensor, *selected: Tensor) -> Tensor:
        batch, length, *heads = v.shape
        y = v.new_zeros(batch, length + 2, *heads)
        selections = [selected[i : i + 4] for i in range(0, len(selected), 4)]
        nothing = v.new_zeros(batch, selected[0].shape[-1], *heads)
        states = [
            _scan((v, *inputs), walk, y, nothing)[:-1]
            for inputs, walk in zip(selections, walks, strict=True)
        ]
        ctx.walks = walks
        ctx.save_for_backward(v, *selected, *chain(*states))
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor | None, ...]:
        v, *rest = ctx.saved_tensors
        dv = torch.zeros_like(v, memory_format=torch.contiguous_format)
        selected, states = rest[: 4 * len(ctx.walks)], rest[4 * len(ctx.walks) :]
        num_chunks = len(states) // len(ctx.walks)
        gradients: list[Tensor] = []
        for i, walk in enumerate(ctx.walks):
            inputs = (v, *selected[4 * i : 4 * i + 4])
            own = states[i * num_chunks : (i + 1) * num_chunks]
            gradients += _scan_back(inputs, walk, own, dy, dv)
        return None, dv, *gradients


def _scan(inputs: Sequence[Tensor], walk: Walk, y: Tensor, before: Tensor) -> list[Tensor]:
    """Add the answers to `y`; return the states, from the one before the first chunk on."""
    states = [before]
    for place in walk.chunks(inputs[0].shape[1]):
        chunk, state = _Chunk(place, walk, inputs), states[-1]
        answers = y[:, walk.answers(place)]
        answers.addcmul_(chunk.read(state), chunk.through)
        answers += (chunk.scores @ chunk.u.transpose(1, 2)).transpose(1, 2)
        added = chunk.k.mT @ (chunk.u * chunk.after).flatten(-2)
        states.append(torch.addcmul(added.view(state.shape), chunk.whole, state))
    return states


def _scan_back(
    inputs: Sequence[Tensor], walk: Walk, states: Sequence[Tensor], dy: Tensor, dv: Tensor
) -> list[Tensor]:
    """Add the gradient of the values to `dv`; return those of q, k, dt and logs."""
    gradients = [torch.empty(t.shape, dtype=t.dtype, device=t.device) for t in inputs[1:]]
    dstate = torch.zeros_like(states[0])
    places = walk.chunks(dv.shape[1])
    for place, state in zip(places[::-1], states[::-1], strict=True):
        chunk = _Chunk(place, walk, inputs)
        found = _chunk_gradients(chunk, walk, dy[:, walk.answers(place)], (state, dstate))
        dv[:, place] += found[0]
        for gradient, part in zip(gradients, found[1:-1], strict=True):
            gradient[:, place] = part
        dstate = found[-1]
    return gradients


def _chunk_gradients(
    chunk: _Chunk, walk: Walk, dy: Tensor, states: tuple[Tensor, Tensor]
) -> tuple[Tensor, ...]:
    """Find the gradients of v, q, k, dt, logs and of the state that arrives.

    The states are the one that arrives, and the gradient of the one that leaves. The gradient of a
    decay is the sum over all that passes it: what is read at or after its token and was written
    before. Differences of larger sums would be shorter, but the decay of a token that forgets
    everything would then get their rounding, multiplied by its large logarithm.
    """
    state, dleaving = states
    earlier = walk.earlier(dy)
    # what came with the state, and what leaves with it
    faded = dy * chunk.through
    dq = faded.flatten(-2) @ state.flatten(-2).mT
    dstate = (chunk.q.mT @ faded.flatten(-2)).view(state.shape).addcmul_(chunk.whole, dleaving)
    dk = (chunk.u * chunk.after).flatten(-2) @ dleaving.flatten(-2).mT
    du = (chunk.k @ dleaving.flatten(-2)).view(dy.shape).mul_(chunk.after)
    passing = (dleaving * state).sum((1, 3))[:, None] * chunk.whole[..., 0]
    dlogs = passing + (1 - earlier) @ (faded * chunk.read(state)).sum(-1)
    dlogs += earlier @ (du * chunk.u).sum(-1)

    # what stayed inside
    dy, u = (t.transpose(1, 2).contiguous() for t in (dy, chunk.u))
    du += (chunk.scores.mT @ dy).transpose(1, 2)
    dscores = dy @ u.mT
    written = (chunk.scores * dscores) @ earlier.mT
    dlogs += (written * (1 - earlier).mT).sum(-2).mT
    dproducts = walk.visible(dscores.mul_(chunk.between).sum(1))
    dq.baddbmm_(dproducts, chunk.k)
    dk.baddbmm_(dproducts.mT, chunk.q)
    return du * chunk.dt, dq, dk, (du * chunk.v).sum(-1), dlogs, dstate

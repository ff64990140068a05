"""Linear recurrence with a diagonal transition, along a long axis and without a long loop.

    x_k = a_k x_(k-1) + u_k          or, reversed, x_k = a_k x_(k+1) + u_k

`a` is real or complex, one for all positions or one for each. The axis is cut into blocks, and the
positions of all blocks are stepped through at once. What a block hands over to the next is the same
recurrence again, over the ends of the blocks and with the products of `a` in them, so it is solved
by the same function; last, every position adds its share of what came into its block.

The gradient of u is the recurrence in the other direction, with conjugates:

    du_k = dx_k + conj(a_(k+1)) du_(k+1)          da_k = du_k conj(x_(k-1))

Cost:   time O(N P) for P states, in about BLOCK log N / log BLOCK steps; memory O(N P).
"""

from itertools import pairwise
from typing import Any, TypeAlias

import torch
import torch.nn.functional as F
from jaxtyping import Num
from torch import Tensor
from torch.autograd.function import once_differentiable

BLOCK = 32
PIECE = 128

States: TypeAlias = Num[Tensor, "*rows length states"]
# one for all positions, or one for each
Decays: TypeAlias = Num[Tensor, "*#rows #length states"]


def recur(a: Num[Tensor, "..."], u: States, reverse: bool = False) -> States:
    """Return all states of the recurrence that starts from zero.

    >>> recur(torch.tensor([0.5]), torch.tensor([[8.0], [0.0], [0.0]])).flatten().tolist()
    [8.0, 4.0, 2.0]
    """
    x: Tensor = _Recur.apply(a if a.dim() > 1 else a[None], u, reverse)  # type: ignore[no-untyped-call]
    return x


class _Recur(torch.autograd.Function):
    """Keep the states alone; the backward pass is the recurrence in the other direction."""

    @staticmethod
    def forward(ctx: Any, a: Decays, u: States, reverse: bool) -> States:
        x = _run(a, u, reverse)
        ctx.save_for_backward(a, x)
        ctx.reverse = reverse
        return x

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: States) -> tuple[Tensor, Tensor, None]:
        a, x = ctx.saved_tensors
        is_fixed, step = a.shape[-2] == 1, -1 if ctx.reverse else 1
        next_a = a if is_fixed else _delayed(a, -step)
        du = _run(next_a.conj().resolve_conj(), gradient, not ctx.reverse)
        if is_fixed:
            return _sum_of_products(du, x, ctx.reverse).sum_to_size(a.shape), du, None
        return (du * _delayed(x, step).conj()).sum_to_size(a.shape), du, None


def _delayed(x: States, steps: int) -> States:
    """Move everything to later positions; zeros come in."""
    return F.pad(x, (0, 0, steps, -steps))


def _sum_of_products(du: States, x: States, reverse: bool) -> States:
    """Sum du_k conj(x_(k-1)) over the positions, in pieces that stay in the cache."""
    later, earlier = (slice(None, -1), slice(1, None))[:: 1 if reverse else -1]
    pieces = zip(
        du[..., later, :].split(PIECE, dim=-2), x[..., earlier, :].split(PIECE, dim=-2), strict=True
    )
    return sum((d * e.conj()).sum(-2, keepdim=True) for d, e in pieces)


def _run(a: Decays, u: States, reverse: bool) -> States:
    length = u.shape[-2]
    if length <= BLOCK:
        return _step(a, u, reverse)
    x = _step(_blocks(a), _blocks(u), reverse)
    products = _products(_blocks(a), reverse)
    end, into, out_of = (
        (0, slice(None, -1), slice(1, None)) if reverse else (-1, slice(1, None), slice(None, -1))
    )
    ends = _run(products[..., end, :], x[..., end, :], reverse)
    x[..., into, :, :].addcmul_(products.expand_as(x)[..., into, :, :], ends[..., out_of, None, :])
    return x.flatten(-3, -2)[..., :length, :]


def _blocks(x: Tensor) -> Tensor:
    """Cut an axis of positions into blocks; what is the same at all of them has one block of one."""
    length = x.shape[-2]
    if length == 1:
        return x[..., None, :]
    if length % BLOCK:
        x = F.pad(x, (0, 0, 0, -length % BLOCK))
    return x.unflatten(-2, (-1, BLOCK))


def _products(a: Tensor, reverse: bool) -> Tensor:
    """Multiply what lies between the start of a block and each of its positions."""
    a = a.expand(*a.shape[:-2], BLOCK, -1)
    return a.flip(-2).cumprod(-2).flip(-2) if reverse else a.cumprod(-2)


def _step(a: Tensor, u: Tensor, reverse: bool) -> Tensor:
    """Go through the last axis of positions, one after the other."""
    x = torch.empty_like(u, memory_format=torch.contiguous_format)
    inputs, states = u.unbind(-2), x.unbind(-2)
    decays = a.expand(*a.shape[:-2], len(states), -1).unbind(-2)
    order = range(len(states))[:: -1 if reverse else 1]
    states[order[0]].copy_(inputs[order[0]])
    for before, now in pairwise(order):
        torch.addcmul(inputs[now], decays[now], states[before], out=states[now])
    return x

"""Linear recurrence with a diagonal transition, along a long axis and without a long loop.

    x_k = a_k x_(k-1) + u_k          or, reversed, x_k = a_k x_(k+1) + u_k

`a` is real or complex, one for all positions or one for each. The axis is cut into blocks, and the
positions of all blocks are stepped through at once. What a block hands over to the next is the same
recurrence again, over the ends of the blocks and with the products of `a` in them, so it is solved
by the same function; last, every position adds its share of what came into its block.

The gradient of u is the recurrence in the other direction, with conjugates:

    du_k = dx_k + conj(a_(k+1)) du_(k+1)          da_k = du_k conj(x_(k-1))

Cost:   time O(N P) for P states, in BLOCK steps for each factor of BLOCK in N; memory O(N P).
Choice: steps over blocks in a function with its own gradient. Measured for four rows of 4,096
        positions and 128 complex states on one core, forward and backward, in CPU time: 25 ms;
        44 ms with autograd through the same steps, 196 ms with a matrix per block and state (16
        positions), 367 ms by Fourier transforms. Steps in real arithmetic take 11 ms for 5.
Choice: kept away from the compiler, which cannot trace a gradient of complex states (torch 2.13).
Choice: elementwise products, which count as no Mult-Adds (`model/mult_adds.py`). They are few: 4
        per state and position, where the maps around them have as many as the model is wide.
"""

import math
from typing import Any, TypeAlias

import torch
import torch.nn.functional as F
from einops import rearrange
from jaxtyping import Num
from torch import Tensor
from torch.autograd.function import once_differentiable

BLOCK = 32

States: TypeAlias = Num[Tensor, "*rows length states"]
# one for all positions, or one for each
Decays: TypeAlias = Num[Tensor, "*#rows #length states"]


@torch.compiler.disable  # type: ignore[untyped-decorator]
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
        later, earlier = _ends(ctx.reverse)
        if a.shape[-2] == 1:
            du = _run(a.conj().resolve_conj(), gradient, not ctx.reverse)
            da = _sum_of_products(du[..., later, :], x[..., earlier, :])
        else:
            following, da = torch.zeros_like(a), torch.zeros_like(x)
            following[..., earlier, :] = a[..., later, :].conj()
            du = _run(following, gradient, not ctx.reverse)
            da[..., later, :] = du[..., later, :] * x[..., earlier, :].conj()
        return da.sum_to_size(a.shape), du, None


def _ends(reverse: bool) -> tuple[slice, slice]:
    """Return the places that follow another one, and those which another one follows."""
    first, second = slice(None, -1), slice(1, None)
    return (first, second) if reverse else (second, first)


def _sum_of_products(du: States, x: States) -> Num[Tensor, "*rows 1 states"]:
    """Sum du conj(x) over the positions, in pieces that stay in the cache."""
    size = max(1, math.isqrt(x.shape[-2]))
    pieces = zip(torch.split(du, size, dim=-2), torch.split(x, size, dim=-2), strict=True)
    sums = [(d * e.conj()).sum(dim=-2, keepdim=True) for d, e in pieces]
    return torch.cat(sums, dim=-2).sum(dim=-2, keepdim=True)


def _run(a: Decays, u: States, reverse: bool) -> States:
    """Solve the recurrence without a gradient."""
    length = u.shape[-2]
    if length <= BLOCK:
        return _step(a, u, reverse)
    blocks = _cut(a)
    x, products = _step(blocks, _cut(u), reverse), _products(blocks, reverse)
    last = 0 if reverse else -1
    carried = _run(products[..., last, :], x[..., last, :], reverse)
    later, earlier = _ends(reverse)
    x[..., later, :, :].addcmul_(
        products.expand_as(x)[..., later, :, :], carried[..., earlier, None, :]
    )
    return x.flatten(-3, -2)[..., :length, :]


def _cut(x: Tensor) -> Tensor:
    """Cut an axis of positions into blocks; an axis of one is the same in all of them."""
    length = x.shape[-2]
    if length == 1:
        return x[..., None, :]
    if length % BLOCK:
        x = F.pad(x, (0, 0, 0, -length % BLOCK))
    return rearrange(x, "... (k s) p -> ... k s p", s=BLOCK)


def _products(a: Tensor, reverse: bool) -> Tensor:
    """Multiply, for every position, the decays from the start of its block up to it."""
    a = a.expand(*a.shape[:-2], BLOCK, -1)
    return a.flip(-2).cumprod(-2).flip(-2) if reverse else a.cumprod(-2)


def _step(a: Tensor, u: Tensor, reverse: bool) -> Tensor:
    """Go through the positions one after the other, in all blocks at once."""
    inputs = u.unbind(-2)
    decays = a.expand(*a.shape[:-2], len(inputs), -1).unbind(-2)
    if reverse:
        inputs, decays = inputs[::-1], decays[::-1]
    states = [inputs[0]]
    for decay, here in zip(decays[1:], inputs[1:], strict=True):
        states.append(torch.addcmul(here, decay, states[-1]))
    return torch.stack(states[::-1] if reverse else states, dim=-2)

"""Sliding windows that lie over the keys without copying them.

`blocks.sliding_window` gathers the keys of every problem, which also serves dilated windows and
global keys. Plain windows need no gathering: they are views of the padded keys, `block` positions
apart, that overlap. Their gradients are added up piece by piece, each as long as a block.

Choice: of several sequences the views become a copy, since no single step leads from window to
        window. So it pays to attend to one long sequence at a time. Measured with one thread, four
        sequences of 4,096 tokens, 4 heads of 64 and windows of 257 keys, forward and backward:
        330 ms one at a time, 530 ms together; gathered 430 ms and 460 ms.
"""

import math
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from einops import rearrange
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from longarena.attention.ops.blocks import Sets, Window, cut, join
from longarena.attention.ops.recompute import recomputed
from longarena.shapes import Heads, Mask, Values


def attend_in_windows(q: Heads, k: Heads, v: Values, mask: Mask, window: Window) -> Values:
    """Attend from every query to the real keys at most `before` and `after` positions away."""
    batch, length = mask.shape
    k_sets, v_sets, bias = lay(k, window), lay(v, window), _bias(mask, window, q.dtype)
    with recomputed(
        (k_sets, partial(lay, k.detach(), window)),
        (v_sets, partial(lay, v.detach(), window)),
        (bias, partial(_bias, mask, window, q.dtype)),
    ):
        y = F.scaled_dot_product_attention(cut(q, window.block), k_sets, v_sets, attn_mask=bias)
    return join(y, batch, length)


def _bias(mask: Mask, window: Window, dtype: torch.dtype) -> Float[Tensor, "problems 1 block keys"]:
    """Return what is added to the logits: zero, or minus infinity for keys that are not seen.

    Every query sees its own key, so that its softmax is a number also where there is only padding.
    """
    zero, distances = torch.zeros((), dtype=dtype, device=mask.device), window.distances()
    is_far = (distances < -window.before) | (distances > window.after)
    is_padded = ~_views(mask[..., None, None], window).transpose(2, 3)
    far = zero.masked_fill(is_far.to(mask.device), -math.inf)
    bias = zero.masked_fill(is_padded, -math.inf) + far
    bias.diagonal(window.before, dim1=2, dim2=3).zero_()
    return bias


def lay(x: Heads, window: Window) -> Sets:
    """Lay windows over the keys."""
    windows: Tensor = _Lay.apply(x, window)  # type: ignore[no-untyped-call]
    return windows


def _views(x: Tensor, window: Window) -> Tensor:
    """Turn (batch, length, heads, size) into windows (problems, heads, keys, size)."""
    extra = -x.shape[1] % window.block
    padded = F.pad(x, (0, 0, 0, 0, window.before, window.after + extra))
    width = window.before + window.block + window.after
    return padded.unfold(1, width, window.block).transpose(3, 4).flatten(0, 1)


class _Lay(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Heads, window: Window) -> Sets:
        ctx.window, ctx.shape = window, x.shape
        return _views(x.transpose(1, 2), window)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Sets) -> tuple[Heads, None]:
        (batch, heads, length, size), block = ctx.shape, ctx.window.block
        windows = rearrange(gradient, "(b n) h k d -> b n k h d", b=batch)
        num_blocks, width = windows.shape[1:3]
        total = gradient.new_zeros(batch, num_blocks + width // block, block, heads, size)
        for index, piece in enumerate(torch.split(windows, block, dim=2)):
            total[:, index : index + num_blocks, : piece.shape[2]] += piece
        first = ctx.window.before
        return total.flatten(1, 2)[:, first : first + length].transpose(1, 2), None

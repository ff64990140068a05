"""Batch norm of a batch in few passes, with its gradient by hand.

    y = (x - m) r w + b      m, v: mean and variance of the real tokens, channel by channel
                             r = 1 / sqrt(v + eps)

As operations of torch this reads and writes a batch some fifty times, forward and backward, which
was half of the step of a small model. With g the gradient of y and n the number of real tokens,

    gradient of x = w r (g - [real] / n (sum g + (x - m) r^2 sum g (x - m)))

takes two passes forward after the mean, and two backward (`batch_norm_kernel.py`). The sums run
over all tokens of all processes; what a process adds to them comes back as its share of the
gradient.

Choice: other devices and compiled models use the operations, which a compiler fuses by itself.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.autograd.function import FunctionCtx, once_differentiable

from longarena.model.all_reduce import add_over_processes
from longarena.shapes import Mask, Tokens

EPSILON = 1e-5


@dataclass(frozen=True)
class Moments:
    """How the real tokens of a batch are distributed, channel by channel."""

    count: Float[Tensor, ""]
    mean: Float[Tensor, " width"]
    variance: Float[Tensor, " width"]


def batch_norm(x: Tokens, mask: Mask, weight: Tensor, bias: Tensor) -> tuple[Tokens, Moments]:
    """Norm a batch by the real tokens of all processes; of none, mean and variance are 0."""
    if x.device.type != "cpu" or torch.compiler.is_compiling():
        moments = moments_of_real(x, mask)
        return rescaled(x, moments.mean, moments.variance, weight, bias), moments
    found: tuple[Tensor, Tensor, Tensor, Tensor] = _BatchNorm.apply(  # type: ignore[no-untyped-call]
        x, mask, weight, bias
    )
    return found[0], Moments(*found[1:])


def rescaled(x: Tokens, mean: Tensor, variance: Tensor, weight: Tensor, bias: Tensor) -> Tokens:
    """Bring every channel from a mean and a variance to those of the parameters."""
    return torch.addcmul(bias, x - mean, (variance + EPSILON).rsqrt() * weight)


def moments_of_real(x: Tokens, mask: Mask) -> Moments:
    """Compute mean and variance over the real tokens of all processes, by operations of torch."""
    padded = ~mask[..., None]
    shares = [mask.sum().to(x.dtype)[None], x.masked_fill(padded, 0.0).sum(dim=(0, 1))]
    sums = add_over_processes(torch.cat(shares))
    divisor = sums[0].clamp_min(1.0)
    mean = sums[1:] / divisor
    squares = (x - mean).masked_fill(padded, 0.0).square().sum(dim=(0, 1))
    return Moments(sums[0], mean, add_over_processes(squares) / divisor)


class _BatchNorm(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: FunctionCtx, x: Tensor, mask: Tensor, weight: Tensor, bias: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        # not at the top, so that only those who train with batch norm wait for numba
        from longarena.model import batch_norm_kernel as kernel  # noqa: PLC0415

        rows, is_real = _rows(x), _rows_of(mask)
        count, mean, variance = _moments(rows, is_real)
        scale = weight * (variance + EPSILON).rsqrt()
        y = torch.empty_like(rows)
        kernel.rescale(*(t.numpy() for t in (rows, mean, scale, bias, y)))
        ctx.save_for_backward(rows, is_real, count, mean, variance, weight)
        ctx.mark_non_differentiable(count, mean, variance)
        return y.view(x.shape), count, mean, variance

    @staticmethod
    @once_differentiable
    def backward(
        ctx: FunctionCtx, gradient: Tensor, *_: Tensor
    ) -> tuple[Tensor, None, Tensor, Tensor]:
        from longarena.model import batch_norm_kernel as kernel  # noqa: PLC0415

        rows, is_real, count, mean, variance, weight = ctx.saved_tensors  # type: ignore[attr-defined]
        given = _rows(gradient)
        sums = kernel.add_up_gradients(given.numpy(), rows.numpy(), mean.numpy())
        plain, weighted = (torch.from_numpy(each) for each in sums)
        inverse = (variance.double() + EPSILON).rsqrt()
        scale = weight * inverse
        of_all = add_over_processes(torch.stack([plain, weighted])) / count.clamp_min(1.0)
        shift, slope = scale * of_all[0], scale * inverse.square() * of_all[1]
        pulled = torch.empty_like(rows)
        factors = [t.to(rows.dtype).numpy() for t in (scale, shift, slope)]
        kernel.pull_back(
            given.numpy(), rows.numpy(), is_real.numpy(), mean.numpy(), *factors, pulled.numpy()
        )
        of_weight = (weighted * inverse).to(weight.dtype)
        return pulled.view(gradient.shape), None, of_weight, plain.to(weight.dtype)


def _moments(
    rows: Float[Tensor, "tokens width"], is_real: Bool[Tensor, " tokens"]
) -> tuple[Tensor, Tensor, Tensor]:
    """Return how many rows of all processes are real, and their mean and variance."""
    from longarena.model import batch_norm_kernel as kernel  # noqa: PLC0415

    total = torch.from_numpy(kernel.add_up(rows.numpy(), is_real.numpy()))
    sums = add_over_processes(torch.cat([is_real.sum()[None].to(total), total]))
    divisor = sums[0].clamp_min(1.0)
    mean = (sums[1:] / divisor).to(rows.dtype)
    squares = kernel.add_up_squares(rows.numpy(), is_real.numpy(), mean.numpy())
    variance = add_over_processes(torch.from_numpy(squares)) / divisor
    return sums[0].to(rows.dtype), mean, variance.to(rows.dtype)


def _rows(x: Tensor) -> Tensor:
    """View a batch as one row per token."""
    return x.detach().contiguous().view(-1, x.shape[-1])


def _rows_of(mask: Tensor) -> Tensor:
    return mask.contiguous().view(-1)

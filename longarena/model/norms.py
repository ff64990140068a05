"""Norms: bring the numbers of a token to a common scale. Each is called with tokens and mask.

    layer    over the channels of one token: mean 0, variance 1        Ba et al. (2016)
    rms      over the channels of one token: mean square 1             Zhang & Sennrich (2019)
    batch    over all real tokens of the batch, channel by channel     Ioffe & Szegedy (2015)

Batch norm depends on other examples while training. In evaluation it uses running values of mean
and variance, which are part of the model's state.

Paper:  https://arxiv.org/abs/1607.06450, https://arxiv.org/abs/1910.07467,
        https://arxiv.org/abs/1502.03167
Choice: padding enters neither the mean nor the variance of batch norm, and the batch is that of
        all processes together: neither padding nor the number of devices changes a number.
Choice: the mean first, then the variance around it, which takes two sums over the processes. The
        mean of squares would take one, but loses its digits where the mean is large.
Choice: the running variance is the unbiased one, as in torch. Fewer than two real tokens have no
        such variance; they move neither running value.
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from longarena.model.batch_norm import Moments, batch_norm, rescaled
from longarena.shapes import Mask, Tokens

EPSILON = 1e-6
BATCH_MOMENTUM = 0.1


class LayerNorm(nn.Module):
    """Every token by itself: subtract its mean, divide by its deviation."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width))

    def forward(self, x: Tokens, mask: Mask) -> Tokens:
        return F.layer_norm(x, x.shape[-1:], self.weight, self.bias, EPSILON)


class RMSNorm(nn.Module):
    """Every token by itself: divide by the root of its mean square."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Tokens, mask: Mask) -> Tokens:
        return F.rms_norm(x, x.shape[-1:], self.weight, EPSILON)


class BatchNorm(nn.Module):
    """Every channel over the real tokens of the batch, or by its running values in evaluation."""

    running_mean: Tensor
    running_variance: Tensor
    is_frozen = False  # by its running values in training too, which then stay

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width))
        self.register_buffer("running_mean", torch.zeros(width))
        self.register_buffer("running_variance", torch.ones(width))

    def forward(self, x: Tokens, mask: Mask) -> Tokens:
        # half precision cannot even count the tokens of a batch
        x = x.to(torch.promote_types(x.dtype, torch.float32))
        if not self.training or self.is_frozen:
            running = self.running_mean, self.running_variance
            return rescaled(x, *running, self.weight, self.bias)
        y, moments = batch_norm(x, mask, self.weight, self.bias)
        self._follow(moments)
        return y

    @torch.no_grad()
    def _follow(self, moments: Moments) -> None:
        """Move the running values towards those of a batch."""
        others = moments.count - 1
        share = BATCH_MOMENTUM * (others > 0).to(others.dtype)
        unbiased = moments.variance * (moments.count / others.clamp_min(1.0))
        self.running_mean.lerp_(moments.mean, share)
        self.running_variance.lerp_(unbiased, share)


NORMS: dict[str, Callable[[int], nn.Module]] = {
    "layer": LayerNorm,
    "rms": RMSNorm,
    "batch": BatchNorm,
}

"""Linformer: compress the keys and values along the sequence to k of them, then attend.

    y_i = sum_c softmax_c(q_i . (E^T K)_c / sqrt(d)) (F^T V)_c      E, F: max_length x k, learned

Every query sees k mixtures of tokens instead of N tokens. A shorter row uses the first rows of E
and F; padded tokens are set to zero before they are mixed. E^T (X W) = (E^T X) W, so a layer
compresses its tokens and projects the k results; if keys and values share E, it compresses once.

    sharing       none: E and F for each head     headwise: one E and one F for all heads
                  key-value: E = F for all heads  layerwise: that one E in every layer
    projection    linear: E as it is              mean-pool: means of windows, nothing is learned
                  conv: windows weighted by one learned kernel, the same for every channel

Paper:  Wang et al. (2020), https://arxiv.org/abs/2006.04768
Cost:   time O(N k d), memory O(N d + k d); it adds max_length k parameters (times 2 H if unshared).
Choice: E and F start Xavier-uniform, as in the official release; a kernel starts as the mean.
Choice: rotary positions turn the keys before they are mixed, since a mixture has no position. The
        keys of all tokens are then computed.
Choice: windows have ceil(max_length / k) tokens whatever the row's length, so that padding does not
        move them; a window without a real token is hidden, and a mean is taken over real tokens.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import torch
import torch.nn.functional as F
from einops import rearrange
from jaxtyping import Bool, Float
from pydantic import Field
from torch import Tensor, nn

from longarena.attention.base import Attention, Mixer, Place
from longarena.attention.cards import CARDS
from longarena.attention.ops.convolution import Convolving
from longarena.attention.ops.visible import visible_keys
from longarena.errors import UserError
from longarena.options import Options
from longarena.shapes import Heads, Mask, Tokens, Values

CompressedKeys: TypeAlias = Float[Tensor, "batch heads k size"]
CompressedValues: TypeAlias = Float[Tensor, "batch heads k value_size"]
CompressedMask: TypeAlias = Bool[Tensor, "batch k"]


class LinformerOptions(Options):
    """`k` compressed keys, what shares a projection, and which kind of projection."""

    k: int = Field(128, gt=0)
    sharing: Literal["none", "headwise", "key-value", "layerwise"] = "key-value"
    projection: Literal["linear", "mean-pool", "conv"] = "linear"


class Compression(nn.Module, ABC):
    """Mixes the positions of (B, H or 1, N, c) into fewer; the input is zero at padding."""

    window_size: int | None = None

    @abstractmethod
    def forward(self, x: Tensor, mask: Mask) -> Tensor:
        """Mix positions, the same way in every channel."""

    def visible(self, mask: Mask) -> CompressedMask | None:
        """Tell which of the results may be seen; None for all of them."""
        if self.window_size is None:
            return None
        return visible_keys(windows(mask, self.window_size).any(dim=-1))


class LinearCompression(Compression):
    """A learned matrix, for each head or one for all."""

    def __init__(self, num_maps: int, max_length: int, k: int) -> None:
        super().__init__()
        bound = math.sqrt(6 / (max_length + k))
        self.weight = nn.Parameter(torch.empty(num_maps, max_length, k).uniform_(-bound, bound))

    def forward(self, x: Tensor, mask: Mask) -> Tensor:
        return self.weight[:, : x.shape[2]].mT @ x


class MeanPool(Compression):
    """The mean of the real tokens of each window."""

    window_size: int

    def __init__(self, num_maps: int, max_length: int, k: int) -> None:
        super().__init__()
        self.window_size = math.ceil(max_length / k)

    def forward(self, x: Tensor, mask: Mask) -> Tensor:
        num_real = windows(mask, self.window_size).sum(dim=-1).clamp_min(1)
        return windows(x, self.window_size, dim=2).sum(dim=3) / num_real[:, None, :, None]


class Convolution(Compression, Convolving):
    """Each window weighted by a learned kernel, for each head or one for all; stride = size."""

    window_size: int

    def __init__(self, num_maps: int, max_length: int, k: int) -> None:
        super().__init__()
        self.window_size = math.ceil(max_length / k)
        self.kernel = nn.Parameter(torch.full((num_maps, self.window_size), 1 / self.window_size))

    def forward(self, x: Tensor, mask: Mask) -> Tensor:
        return (self.kernel[:, None, None] @ windows(x, self.window_size, dim=2)).squeeze(3)


COMPRESSIONS: dict[str, Callable[[int, int, int], Compression]] = {
    "linear": LinearCompression,
    "mean-pool": MeanPool,
    "conv": Convolution,
}


def windows(x: Tensor, size: int, dim: int = 1) -> Tensor:
    """Cut a dimension into windows of this size; zeros fill the last one."""
    behind = [0, 0] * (x.ndim - 1 - dim) + [0, -x.shape[dim] % size]
    cut: Tensor = F.pad(x, behind).unflatten(dim, (-1, size))  # type: ignore[no-untyped-call]
    return cut


def compressed_attention(
    q: Heads, k: CompressedKeys, v: CompressedValues, visible: CompressedMask | None
) -> Values:
    """Attend by softmax to the compressed keys and values."""
    allowed = None if visible is None else visible[:, None, None, :]
    return F.scaled_dot_product_attention(q, k, v, attn_mask=allowed)


@dataclass(frozen=True)
class LinformerPlan:
    """Queries, compressed keys, and the mask of the tokens they were made from."""

    q: Heads
    k: CompressedKeys
    mask: Mask


class Linformer(Attention[LinformerPlan]):
    """Softmax attention to compressed keys and values."""

    card = CARDS["linformer"]
    options_type = LinformerOptions
    takes_rotary = True

    def __init__(
        self, place: Place, options: LinformerOptions, previous: Mixer | None = None
    ) -> None:
        super().__init__(place, options, previous)
        self.options = options
        self.owned = nn.ModuleList()
        # a plain tuple: what is borrowed from the layer below is trained and saved only there
        self.compress_keys_and_values = self._compressions(previous)

    def _compressions(self, previous: Mixer | None) -> tuple[Compression, Compression]:
        """Make the compressions of keys and of values, or take those of the layer below."""
        options, place = self.options, self.place
        if options.sharing == "layerwise" and previous is not None:
            if not (isinstance(previous, Linformer) and previous.options == options):
                raise UserError(
                    "linformer: sharing=layerwise needs the same options in every layer; "
                    "choose sharing=key-value"
                )
            return previous.compress_keys_and_values
        num_maps = place.num_heads if options.sharing == "none" else 1
        num_owned = 2 if options.sharing in ("none", "headwise") else 1
        make = COMPRESSIONS[options.projection]
        made = [make(num_maps, place.max_length, options.k) for _ in range(num_owned)]
        self.owned.extend(made)
        return made[0], made[-1]

    def forward(self, x: Tokens, mask: Mask) -> Tokens:
        if self.place.rotary:
            return super().forward(x, mask)
        compress_keys, compress_values = self.compress_keys_and_values
        real = x.masked_fill(~mask[..., None], 0.0)[:, None]
        for_keys = compress_keys(real, mask)
        shared = compress_values is compress_keys
        for_values = for_keys if shared else compress_values(real, mask)
        k, v = self.project(for_keys, self.key), self.project(for_values, self.value)
        y = compressed_attention(self.queries(x), k, v, compress_keys.visible(mask))
        merged: Tensor = self.output(rearrange(y, "b h n d -> b n (h d)"))
        return merged

    def project(self, compressed: Tensor, projection: nn.Linear) -> CompressedKeys:
        """Project into heads what all heads share, or what each head has of its own."""
        weight = rearrange(projection.weight, "(h d) w -> h w d", h=self.place.num_heads)
        return compressed @ weight

    def plan(self, x: Tokens, mask: Mask) -> LinformerPlan:
        return LinformerPlan(self.queries(x), self._compressed_keys(x, mask), mask)

    def _compressed_keys(self, x: Tokens, mask: Mask) -> CompressedKeys:
        compress_keys, _ = self.compress_keys_and_values
        if self.place.rotary:
            real_keys = self.keys(x).masked_fill(~mask[:, None, :, None], 0.0)
            compressed: Tensor = compress_keys(real_keys, mask)
            return compressed
        real = x.masked_fill(~mask[..., None], 0.0)[:, None]
        return self.project(compress_keys(real, mask), self.key)

    def apply(self, plan: LinformerPlan, v: Values) -> Values:  # type: ignore[override]
        compress_keys, compress_values = self.compress_keys_and_values
        real = v.masked_fill(~plan.mask[:, None, :, None], 0.0)
        visible = compress_keys.visible(plan.mask)
        return compressed_attention(plan.q, plan.k, compress_values(real, plan.mask), visible)

"""Lite Transformer: some channels look far by attention, the others look near by convolution.

Long-short range attention (LSRA) splits the channels of a token in two:

    far   = multihead attention over the first part
    near  = W_out convolve(glu(W_in second part))         lightweight convolution (`convolution.py`)
    y     = [far, near]

so that attention need not model neighbours. The mixer does not join the two parts; the feed-forward
after it does. With `dynamic` every position predicts its kernel from its own token.

Paper:  Wu et al. (2020), https://arxiv.org/abs/2004.11886
Cost:   time O(N^2 d + N K d), memory O(N d); attention has only `split` of the channels.
Choice: heads keep their size, so half of the channels have half of the heads; a head of the
        convolution is a group of channels with one kernel.
Choice: the gated unit has its share of the `qkv_width`; in the authors' code, too, a convolution
        may have another width than the tokens.
Choice: the gated unit can be left out (`glu=false`), as in the authors' models for IWSLT'14.
Choice: to the convolution padding is zero, and so is everything beyond the ends of a sequence.
Choice: when causal, attention looks back only and a kernel ends at its own token, as in the
        decoder of the authors' code.
Choice: the feed-forward after it is flat, that is, no wider than the model, as in the paper,
        whatever the recipe's `mlp_width` says; `flat=false` follows the recipe.
"""

from dataclasses import replace
from typing import Literal, TypeAlias

import torch
from einops import rearrange
from jaxtyping import Float
from pydantic import Field, field_validator
from torch import Tensor, nn

from longarena.attention.base import Mixer, Place
from longarena.attention.cards import CARDS
from longarena.attention.ops.cache import Cache
from longarena.attention.ops.convolution import Convolving, Kernels, centred, convolve
from longarena.attention.ops.decoder import Decoder, Token
from longarena.attention.ops.projection import projection
from longarena.attention.ops.prompt_decoder import PromptDecoder
from longarena.attention.transformer import Transformer, TransformerOptions
from longarena.errors import UserError
from longarena.options import Options
from longarena.shapes import Mask, Tokens

KERNELS_BY_LAYER = (3, 7, 15, 31)

Gated: TypeAlias = Float[Tensor, "batch length inner"]


class SharedKernel(nn.Module):
    """One kernel per group, for every position."""

    def __init__(self, width: int, groups: int, size: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(nn.init.xavier_uniform_(torch.empty(groups, size)))

    def forward(self, x: Tokens) -> Kernels:
        return self.weight.softmax(dim=-1)[None, None]


class PredictedKernel(nn.Module):
    """One kernel per group and position, predicted from the token there."""

    def __init__(self, width: int, groups: int, size: int) -> None:
        super().__init__()
        self.groups = groups
        self.predict = projection(width, groups * size)

    def forward(self, x: Tokens) -> Kernels:
        logits: Tensor = rearrange(self.predict(x), "b n (g k) -> b n g k", g=self.groups)
        return logits.softmax(dim=-1)


class Convolution(Convolving):
    """A gated linear unit, a lightweight convolution, a projection."""

    def __init__(self, place: Place, size: int, options: "LiteTransformerOptions") -> None:
        super().__init__()
        width, inner, groups = place.width, place.qkv_width, place.num_heads
        self.input = projection(width, 2 * inner if options.glu else inner)
        self.gate = nn.GLU(dim=-1) if options.glu else nn.Identity()
        kernel = PredictedKernel if options.dynamic else SharedKernel
        self.kernel = kernel(inner, groups, size)
        self.output = projection(inner, width)
        self.place, self.size = place, size

    def forward(self, x: Tokens, mask: Mask) -> Tokens:
        gated = self.gated(x).masked_fill(~mask[..., None], 0.0)
        y: Tensor = self.output(convolve(gated, self.kernel(gated), self.place.causal))
        return y

    def gated(self, x: Tokens) -> Gated:
        """Return what is convolved: half of a projection gated by the other, or a plain one."""
        gated: Tensor = self.gate(self.input(x))
        return gated


class LiteTransformerOptions(Options):
    """`split` of the channels attend; the others are convolved with a kernel of `kernel` tokens.

    `auto` takes 3, 7, 15, 31 from the lowest layer up, then stays at 31. Without `glu`, the
    convolution reads a plain projection. A `flat` feed-forward is no wider than the model.
    """

    split: float = Field(0.5, gt=0, lt=1)
    kernel: int | Literal["auto"] = "auto"
    dynamic: bool = False
    glu: bool = True
    flat: bool = True

    @field_validator("kernel")
    @classmethod
    def _has_a_centre(cls, kernel: int | str) -> int | str:
        return centred(kernel) if isinstance(kernel, int) else kernel


class LiteTransformer(Mixer):
    """Multi-head long-short range attention."""

    card = CARDS["lite-transformer"]
    options_type = LiteTransformerOptions
    takes_rotary = True

    def __init__(
        self, place: Place, options: LiteTransformerOptions, previous: Mixer | None = None
    ) -> None:
        super().__init__(place, options, previous)
        far, near = _split(place, options.split)
        size = options.kernel
        if size == "auto":
            size = KERNELS_BY_LAYER[min(place.layer, len(KERNELS_BY_LAYER) - 1)]
        self.widths = [far.width, near.width]
        self.flat = options.flat
        self.attention = Transformer(far, TransformerOptions())
        self.convolution = Convolution(near, size, options)

    def mlp_width(self, asked: int) -> int:
        return min(asked, self.place.width) if self.flat else asked

    def forward(self, x: Tokens, mask: Mask) -> Tokens:
        far, near = torch.split(x, self.widths, dim=-1)
        return torch.cat([self.attention(far, mask), self.convolution(near, mask)], dim=-1)

    def decoder(self, batch: int) -> Decoder:
        return LiteTransformerDecoder(self, batch)


class LiteTransformerDecoder(Decoder):
    """Keep the keys and values of one part, and the last tokens of the other."""

    def __init__(self, mixer: LiteTransformer, batch: int) -> None:
        self.widths = mixer.widths
        self.far = mixer.attention.start(batch)
        row = mixer.zeros(batch, mixer.convolution.place.qkv_width)
        self.near = ConvolutionDecoder(mixer.convolution, row)

    def step(self, x: Token) -> Token:
        far, near = torch.split(x, self.widths, dim=-1)
        return torch.cat([self.far.step(far), self.near.step(near)], dim=-1)

    def read(self, x: Tokens) -> Tokens:
        far, near = torch.split(x, self.widths, dim=-1)
        return torch.cat([self.far.read(far), self.near.read(near)], dim=-1)


class ConvolutionDecoder(PromptDecoder):
    """Keep as many gated tokens as the kernel has places."""

    def __init__(self, convolution: Convolution, row: Float[Tensor, "batch inner"]) -> None:
        super().__init__(convolution)
        self.convolution = convolution
        self.gated = Cache(row, convolution.size)

    def remember(self, x: Tokens) -> None:
        self.gated.extend(self.convolution.gated(x))

    def mix(self, x: Tokens) -> Tokens:
        newest = self.convolution.gated(x)
        tokens, kernel = self.gated.extend(newest), self.convolution.kernel(newest)[:, 0]
        # at the beginning, the places before the first token weigh nothing
        kernel = kernel[..., None, -tokens.shape[1] :]
        y = kernel @ rearrange(tokens, "b k (g d) -> b g k d", g=kernel.shape[1])
        mixed: Tensor = self.convolution.output(rearrange(y, "b g 1 d -> b 1 (g d)"))
        return mixed


def _split(place: Place, share: float) -> tuple[Place, Place]:
    """Divide channels and heads; each part has at least one head."""
    num_heads = max(1, round(share * place.num_heads))
    others = max(1, place.num_heads - num_heads)
    width, other_width = _share_out("width", place.width, share, (num_heads, others))
    qkv_width, other_qkv = _share_out("qkv_width", place.qkv_width, share, (num_heads, others))
    return (
        replace(place, width=width, qkv_width=qkv_width, num_heads=num_heads),
        replace(place, width=other_width, qkv_width=other_qkv, num_heads=others),
    )


def _share_out(
    name: str, channels: int, share: float, num_heads: tuple[int, int]
) -> tuple[int, int]:
    """Split channels in two; the heads of each part must divide them evenly."""
    first = round(share * channels)
    for part, heads in zip((first, channels - first), num_heads, strict=True):
        if part == 0 or part % heads:
            raise UserError(
                f"split {share} of {name} {channels} gives {part} channels to {heads} heads, "
                "which cannot share them evenly; choose another split"
            )
    return first, channels - first

"""Retention: linear attention whose memory fades at a fixed rate, another in every head.

    y_i = sum_j g^|i-j| (R_i q_i . R_j k_j) / sqrt(d) v_j      g = 1 - 2^(-5-h) in head h from 0

R_i turns queries and keys by angles that grow with the position, as rotary positions do, so that a
product depends on the distance. Each head is then normed and gated by its token:

    output(norm(y) * swish(gate(x)))

Paper:  Sun et al. (2023), https://arxiv.org/abs/2307.08621 (eq. 5 to 8)
Cost:   time O(N (c d + d^2)), memory O(N d + (N / c) d^2), per head of size d in chunks of c.
Choice: in both directions the decay is that of the distance, with one set of parameters, as LION-D
        has it (Afzal et al. 2025, https://arxiv.org/abs/2502.16249). When causal, j <= i.
Choice: as in the authors' code, the norm divides by the root of the mean square and subtracts no
        mean. A weight per channel is shared by the heads, as in flash-linear-attention.
Choice: the angles are those of rotary positions, of which the paper speaks and which
        flash-linear-attention takes; the authors' code spaces them a little wider.
Choice: no division of the scores by their sums, which the authors' code has against overflow in
        half precision and which the norm cancels.
Choice: values are twice as wide as keys, and the feed-forward is half as wide as asked for: this
        is how the paper keeps the parameters of a Transformer.
"""

import torch
from pydantic import Field
from torch import Tensor

from longarena.attention.base import Attention, Mixer, Place
from longarena.attention.cards import CARDS
from longarena.attention.ops.decay_scan import ScanPlan, decay_scan
from longarena.attention.ops.decoder import Decoder
from longarena.attention.ops.gated_norm import GatedNorm
from longarena.attention.ops.projection import projection
from longarena.attention.ops.rotary import rotate_by_position
from longarena.attention.ops.scan_decoder import ScanDecoder
from longarena.attention.ops.visible import all_real
from longarena.errors import UserError
from longarena.options import Options
from longarena.shapes import Mask, Tokens, Values

CHUNK = 128


class RetentionOptions(Options):
    """How many times as wide as queries and keys the values are."""

    value_expansion: int = Field(2, ge=1)


class Retention(Attention[ScanPlan]):
    """Multi-scale retention with a norm and a gate."""

    card = CARDS["retention"]
    options_type = RetentionOptions
    projections = ("query", "key")
    has_own_positions = True

    def __init__(
        self, place: Place, options: RetentionOptions, previous: Mixer | None = None
    ) -> None:
        super().__init__(place, options, previous)
        if place.head_size % 2:
            raise UserError(
                f"retention turns channels in pairs, but a head has {place.head_size}; "
                f"choose qkv_width={(place.head_size + 1) * place.num_heads}"
            )
        self.value_expansion = options.value_expansion
        values = place.qkv_width * options.value_expansion
        self.value, self.gate = (projection(place.width, values) for _ in range(2))
        self.output = projection(values, place.width)
        self.norm = GatedNorm(values // place.num_heads)

    def mlp_width(self, asked: int) -> int:
        return asked // self.value_expansion

    def plan(self, x: Tokens, mask: Mask, first: int = 0) -> ScanPlan:
        heads = (self.split(project(x)) for project in (self.query, self.key))
        q, k = (rotate_by_position(t, first=first) for t in heads)
        scale = mask[:, None, :, None].to(k.dtype) * self.place.head_size**-0.5
        decays = logarithms_of_decays(self.place.num_heads, x)
        return ScanPlan(q, k * scale, decays, None if self.place.causal else decays)

    def apply(self, plan: ScanPlan, v: Values) -> Values:  # type: ignore[override]
        return decay_scan(plan, v, CHUNK)

    def forward(self, x: Tokens, mask: Mask) -> Tokens:
        return self.finish(self.apply(self.plan(x, mask), self.split(self.value(x))), x)

    def finish(self, y: Values, x: Tokens) -> Tokens:
        """Norm every head, open or close its channels, and project the result."""
        mixed: Tensor = self.output(self.norm(y, self.gate(x)))
        return mixed

    def decoder(self, batch: int) -> Decoder:
        size = self.place.head_size
        state = self.zeros(batch, self.place.num_heads, size, size * self.value_expansion)
        return ScanDecoder(state, self.begin, self.finish)

    def begin(self, x: Tokens, first: int) -> tuple[ScanPlan, Values]:
        """Say what tokens from position `first` on add to the state, and how they read it."""
        return self.plan(x, all_real(x), first), self.split(self.value(x))


def logarithms_of_decays(num_heads: int, like: Tensor) -> Tensor:
    """Give every head its decay: the first forgets half in 22 tokens, each other in twice as many.

    >>> logarithms_of_decays(2, torch.ones(1)).exp().flatten().tolist()
    [0.96875, 0.984375]
    """
    heads = torch.arange(num_heads, device=like.device).to(like.dtype)
    return torch.log1p(-(2 ** (-5 - heads)))[None, :, None, None]

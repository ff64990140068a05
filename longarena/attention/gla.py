"""Gated linear attention: every token says how fast each channel of the memory fades.

    S_i = diag(a_i) S_{i-1} + k_i v_i^T      y_i = q_i S_i / sqrt(d)
    a_i = sigmoid(W_2 W_1 x_i + b)^(1 / tau)

W_1 has few rows, so the decays cost few parameters; tau keeps them near 1. Each head is normed and
gated by its token: output(norm(y) * swish(gate(x))). With `lion` it is LION-S instead (`lion.py`).

Paper:  Yang et al. (2023), https://arxiv.org/abs/2312.06635 (section 4.4)
Cost:   time O(N (c d + d^2)), memory O(N d + (N / c) d^2), per head of size d in chunks of c.
Choice: in both directions as in ViG (Liao et al. 2024, https://arxiv.org/abs/2405.18425): queries,
        keys, values and W_1 are shared, W_2 and b are not, and the norm follows on the mean of the
        two answers. Both contain the present token, which so counts twice.
Choice: keys are half as wide as values, as the authors have it.
Choice: projections start as everywhere here; the authors' start is smaller, which the norm cancels.
"""

import math

import torch
import torch.nn.functional as F
from einops import rearrange
from pydantic import Field, model_validator
from torch import Tensor, nn

from longarena.attention.base import Attention, Mixer, Place
from longarena.attention.cards import CARDS
from longarena.attention.lion import LionDecoder, LionForm
from longarena.attention.ops.decay_scan import ScanPlan, decay_scan
from longarena.attention.ops.decoder import Decoder
from longarena.attention.ops.gated_norm import GatedNorm
from longarena.attention.ops.projection import projection
from longarena.attention.ops.scan_decoder import ScanDecoder
from longarena.attention.ops.visible import all_real
from longarena.errors import UserError
from longarena.options import Options
from longarena.shapes import Mask, Tokens, Values


class GlaOptions(Options):
    """How slowly the memory fades, and how wide keys and the map to the decays are."""

    tau: float = Field(16.0, gt=0)
    rank: int = Field(16, ge=1)
    key_expansion: float = Field(0.5, gt=0)
    lion: bool = False

    @model_validator(mode="after")
    def _only_what_the_form_has(self) -> "GlaOptions":
        for name in ("tau", "rank", "key_expansion"):
            if self.lion and getattr(self, name) != GlaOptions.model_fields[name].default:
                raise ValueError(f"LION-S has no {name}; leave it out")
        return self


class GatedForm(nn.Module):
    """Queries, keys and decays of gated linear attention, and the norm and gate that follow."""

    def __init__(self, place: Place, options: GlaOptions) -> None:
        super().__init__()
        self.place, self.tau = place, options.tau
        keys = key_width(place, options.key_expansion)
        self.query, self.key = (projection(place.width, keys) for _ in range(2))
        self.gate = projection(place.width, place.qkv_width)
        self.norm = GatedNorm(place.head_size)
        self.decay = LowRank(place.width, options.rank, keys if place.causal else 2 * keys)

    def plan(self, x: Tokens, mask: Mask) -> ScanPlan:
        """Compare tokens channel by channel."""
        q, k = (self.split(project(x)) for project in (self.query, self.key))
        share = 1.0 if self.place.causal else 0.5
        scale = mask[:, None, :, None].to(k.dtype) * (share * k.shape[-1] ** -0.5)
        decays = F.logsigmoid(self.decay(x)) / self.tau
        forward, *backward = torch.split(decays, self.key.out_features, dim=-1)
        return ScanPlan(q, k * scale, self.split(forward), *map(self.split, backward))

    def begin(self, x: Tokens) -> ScanPlan:
        """Compare tokens that follow on others."""
        return self.plan(x, all_real(x))

    def apply(self, plan: ScanPlan, v: Values) -> Values:  # type: ignore[override]
        """Scan in one direction, or in both, where the scan counts the present token once."""
        y = decay_scan(plan, v)
        if plan.backward is None:
            return y
        return y + (plan.q * plan.k).sum(-1, keepdim=True) * v

    def finish(self, y: Values, x: Tokens) -> Tensor:
        """Norm every head, open or close its channels, and put the heads side by side."""
        merged: Tensor = self.norm(y, self.gate(x))
        return merged

    def split(self, x: Tokens) -> Tensor:
        """Cut the channels into heads."""
        return rearrange(x, "b n (h d) -> b h n d", h=self.place.num_heads)


class LowRank(nn.Module):
    """Two linear maps with few channels between them; the second has a bias."""

    def __init__(self, width_in: int, rank: int, width_out: int) -> None:
        super().__init__()
        self.inner = projection(width_in, rank)
        self.outer = nn.Linear(rank, width_out)
        nn.init.xavier_uniform_(self.outer.weight)
        nn.init.zeros_(self.outer.bias)

    def forward(self, x: Tokens) -> Tensor:
        y: Tensor = self.outer(self.inner(x))
        return y


class GatedLinearAttention(Attention[ScanPlan]):
    """Gated linear attention, or LION-S: values and output around one of two forms."""

    card = CARDS["gla"]
    options_type = GlaOptions
    projections = ("value", "output")
    has_own_positions = True

    def __init__(self, place: Place, options: GlaOptions, previous: Mixer | None = None) -> None:
        super().__init__(place, options, previous)
        self.form = LionForm(place) if options.lion else GatedForm(place, options)

    def plan(self, x: Tokens, mask: Mask) -> ScanPlan:
        return self.form.plan(x, mask)

    def apply(self, plan: ScanPlan, v: Values) -> Values:  # type: ignore[override]
        return self.form.apply(plan, v)

    def forward(self, x: Tokens, mask: Mask) -> Tokens:
        return self.finish(self.apply(self.plan(x, mask), self.split(self.value(x))), x)

    def finish(self, y: Values, x: Tokens) -> Tokens:
        """Do what follows on the mixing in this form, and project the result."""
        mixed: Tensor = self.output(self.form.finish(y, x))
        return mixed

    def decoder(self, batch: int) -> Decoder:
        heads, size = self.place.num_heads, self.place.head_size
        if isinstance(self.form, LionForm):
            state = self.zeros(batch, heads, size, size + 1)
            return LionDecoder(state, self.begin, self.finish)
        state = self.zeros(batch, heads, self.form.key.out_features // heads, size)
        return ScanDecoder(state, self.begin, self.finish)

    def begin(self, x: Tokens, first: int) -> tuple[ScanPlan, Values]:
        """Say what the tokens add to the state, and how they read it."""
        return self.form.begin(x), self.split(self.value(x))


def key_width(place: Place, expansion: float) -> int:
    """Give the width of the keys, which the heads must be able to share."""
    asked = place.qkv_width * expansion
    width = round(asked)
    if not width or width % place.num_heads or not math.isclose(width, asked):
        raise UserError(
            f"{expansion} times qkv_width {place.qkv_width} is not a multiple of "
            f"{place.num_heads} heads; choose another key_expansion"
        )
    return width

"""Performer: softmax attention by random features, in linear time (FAVOR+).

The softmax kernel is an average over directions w drawn from the normal distribution,

    exp(q . k) = E_w[ exp(w . q - |q|^2 / 2) exp(w . k - |k|^2 / 2) ]

so m draws give m positive features phi(x) = exp(w . x - |x|^2 / 2), and attention with them uses a
kernel that splits into two factors (`kernel.py`). The directions are orthogonal in blocks of d,
which lowers the variance, and are redrawn during training. q and k are scaled by d^(-1/4).

With `kernel=relu` the features are relu(w . x) + 0.001: a kernel of its own, not softmax.

Paper:  Choromanski et al. (2021), https://arxiv.org/abs/2009.14794
Cost:   time O(N m d), memory O(N m + m d), per head. The error falls like 1 / sqrt(m); its factor
        grows exponentially with |q|^2 and |k|^2, so large q and k need far more features.
Choice: factors that cancel in the quotient are left out or chosen freely: a query's |q|^2 / 2 is
        dropped, its largest feature is scaled to 1, and so is the largest of a row's real keys. The
        gradient treats these scales as constants, and none depends on padding or on other rows.
Choice: when causal, a key is scaled by the largest up to it, and what was summed before shrinks
        when a larger one comes, as in an online softmax. The release scales all keys of a row by
        the largest of them, and a later key so large that earlier ones vanish then shows.
Choice: in single precision a query whose products with all keys are below 4e-31 answers less than
        it should, down to nothing. At the start, with standard normal tokens of width 256, none
        does; with tokens ten times as large, 2 % do.
Choice: no constant is added to the softmax features (the release adds 1e-6 to each).
Choice: one projection serves all heads of a layer. It is a function of (seed, layer, draw) with
        draw = step // redraw_every, and is saved with the weights: what was trained is evaluated.
"""

import math
from dataclasses import replace
from typing import Literal, TypeAlias

import torch
from jaxtyping import Float
from pydantic import Field
from torch import Tensor

from longarena.attention.base import Mixer, Place
from longarena.attention.cards import CARDS
from longarena.attention.kernels import KernelAttention
from longarena.attention.ops.decay_scan import ScanPlan
from longarena.attention.ops.decoder import Decoder
from longarena.attention.ops.kernel import KernelPlan, Sums, with_ones
from longarena.attention.ops.scan_decoder import ScanDecoder
from longarena.attention.ops.visible import all_real, visible_keys
from longarena.options import Options
from longarena.seeding import torch_rng
from longarena.shapes import Heads, Mask, Tokens

Projection: TypeAlias = Float[Tensor, "features size"]
# logarithms of what features are divided by
Scales: TypeAlias = Float[Tensor, "batch heads #length 1"]

RELU_EPSILON = 1e-3


def orthogonal_directions(num_features: int, size: int, rng: torch.Generator) -> Projection:
    """Draw normal vectors that are orthogonal in blocks of `size`.

    >>> w = orthogonal_directions(6, 4, torch.Generator().manual_seed(0))
    >>> (w[:4] @ w[:4].T).triu(1).abs().max().item() < 1e-9
    True
    """
    num_blocks = math.ceil(num_features / size)
    normal = torch.randn(num_blocks, size, size, generator=rng, dtype=torch.float64)
    basis, triangle = torch.linalg.qr(normal)
    # with the signs of the triangle every basis is equally likely, whatever the library returns
    basis = basis * triangle.diagonal(dim1=-2, dim2=-1).sign()[:, None, :]
    normal = torch.randn(num_features, size, generator=rng, dtype=torch.float64)
    lengths = torch.linalg.vector_norm(normal, dim=1, keepdim=True)
    directions: Tensor = basis.mT.reshape(-1, size)[:num_features] * lengths
    return directions


def softmax_features(q: Heads, k: Heads, projection: Projection, mask: Mask) -> KernelPlan:
    """Return positive features whose products estimate exp(q . k / sqrt(d)), up to a constant."""
    logits = _Logits(q, k, projection)
    hidden = ~visible_keys(mask)[:, None, :, None]
    largest = logits.largest_of_keys().masked_fill(hidden, -math.inf).amax(dim=2, keepdim=True)
    return logits.features(largest, mask)


def running_softmax_features(
    q: Heads, k: Heads, projection: Projection, mask: Mask, before: Scales | None = None
) -> tuple[KernelPlan, Scales]:
    """Scale the features of every token by the largest of the keys up to it, `before` included.

    Also return the logarithm of that at the last token.
    """
    logits = _Logits(q, k, projection)
    largest = logits.largest_of_keys().cummax(dim=2).values
    if before is None:
        before = largest[:, :, :1]
    largest = torch.maximum(largest, before)
    decays = torch.cat([before, largest[:, :, :-1]], dim=2) - largest
    return replace(logits.features(largest, mask), decays=decays), largest[:, :, -1:].clone()


class _Logits:
    """The logarithms of the features, but for constants; |k|^2 / 2 is still to be subtracted."""

    def __init__(self, q: Heads, k: Heads, projection: Projection) -> None:
        directions = projection.T * q.shape[-1] ** -0.25
        self.q, self.k = q @ directions, k @ directions
        self.half_square = k.square().sum(dim=-1, keepdim=True) / (2 * math.sqrt(k.shape[-1]))

    @torch.no_grad()
    def largest_of_keys(self) -> Scales:
        """Find the largest feature of every key."""
        largest: Tensor = self.k.amax(dim=-1, keepdim=True) - self.half_square
        return largest

    def features(self, k_largest: Scales, mask: Mask) -> KernelPlan:
        """Divide by the largest feature of the query, and by the given one of the keys."""
        with torch.no_grad():
            q_largest = self.q.amax(dim=-1, keepdim=True)
        # an infinite offset leaves a padded key without features
        k_offset = (self.half_square + k_largest).masked_fill(~mask[:, None, :, None], math.inf)
        # in place: these are the largest tensors of the layer, and only the last result is needed
        return KernelPlan(self.q.sub_(q_largest).exp_(), self.k.sub_(k_offset).exp_())


def relu_features(q: Heads, k: Heads, projection: Projection, mask: Mask) -> KernelPlan:
    """Return the features of generalised attention, relu(w . x) + 0.001."""
    directions = projection.T * q.shape[-1] ** -0.25
    q_features, k_features = (
        (x @ directions).add_(RELU_EPSILON).clamp_min(RELU_EPSILON) for x in (q, k)
    )
    return KernelPlan(q_features, k_features.masked_fill(~mask[:, None, :, None], 0.0))


class PerformerOptions(Options):
    """How many random features, of which kernel, and for how many steps they are used."""

    features: int = Field(128, gt=0)
    kernel: Literal["softmax", "relu"] = "softmax"
    redraw_every: int = Field(1000, gt=0)


class Performer(KernelAttention):
    """Attention by random features."""

    card = CARDS["performer"]
    options_type = PerformerOptions
    takes_rotary = True
    is_function = True
    projection: Tensor
    # the number of the draw, kept on the host; None after loading, when it is not known
    draw_number: int | None

    def __init__(
        self, place: Place, options: PerformerOptions, previous: Mixer | None = None
    ) -> None:
        super().__init__(place, options, previous)
        self.redraw_every = options.redraw_every
        self.kernel = options.kernel
        self.register_buffer("projection", torch.empty(options.features, place.head_size))
        self.draw(0)
        self.register_load_state_dict_post_hook(_forget_draw)  # type: ignore[no-untyped-call]

    @property
    def num_features(self) -> int:
        return len(self.projection)

    def begin_step(self, step: int) -> None:
        number = step // self.redraw_every
        if number != self.draw_number:
            self.draw(number)

    def draw(self, number: int) -> None:
        """Replace the projection by the draw of this number."""
        rng = torch_rng(self.place.seed, "performer", self.place.layer, number)
        num_features, size = self.projection.shape
        # rounded as at construction: a module of double precision must draw the same again
        self.projection.copy_(orthogonal_directions(num_features, size, rng).float())
        self.draw_number = number

    def plan(self, x: Tokens, mask: Mask, first: int = 0) -> KernelPlan:
        q, k = self.queries(x, first), self.keys(x, first)
        if self.kernel == "relu":
            return relu_features(q, k, self.projection, mask)
        if self.place.causal:
            return running_softmax_features(q, k, self.projection, mask)[0]
        return softmax_features(q, k, self.projection, mask)

    def decoder(self, batch: int) -> Decoder:
        return super().decoder(batch) if self.kernel == "relu" else PerformerDecoder(self, batch)


class PerformerDecoder(ScanDecoder):
    """Carry the largest feature of a key so far, by which the sums are divided, with them."""

    def __init__(self, mixer: Performer, batch: int) -> None:
        super().__init__(mixer.first_state(batch), mixer.begin, mixer.finish)
        self.mixer = mixer
        self.largest = self.state.new_full((batch, mixer.place.num_heads, 1, 1), -math.inf)

    def plan(self, x: Tokens) -> tuple[ScanPlan, Sums]:
        """Scale the features of the tokens by the largest up to each of them."""
        q, k = self.mixer.queries(x, self.length), self.mixer.keys(x, self.length)
        plan, self.largest = running_softmax_features(
            q, k, self.mixer.projection, all_real(x), self.largest
        )
        return plan.scan, with_ones(self.mixer.split(self.mixer.value(x)))


def _forget_draw(mixer: Performer, incompatible_keys: object) -> None:
    mixer.draw_number = None

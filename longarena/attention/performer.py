"""Performer: softmax attention by random features, in linear time (FAVOR+).

The softmax kernel is an average over directions w drawn from the normal distribution,

    exp(q . k) = E_w[ exp(w . q - |q|^2 / 2) exp(w . k - |k|^2 / 2) ]

so m draws give m positive features phi(x) = exp(w . x - |x|^2 / 2), and attention with them is a
kernel that splits into two factors (`kernel.py`). The directions are orthogonal in blocks of d,
which lowers the variance, and are redrawn during training. q and k are scaled by d^(-1/4).

With `kernel=relu` the features are relu(w . x) + 0.001: a kernel of its own, not softmax.

Paper:  Choromanski et al. (2021), https://arxiv.org/abs/2009.14794
Cost:   time O(N m d), memory O(N m + m d), per head. The error falls like 1 / sqrt(m); its factor
        grows exponentially with |q|^2 and |k|^2, so large q and k need far more features.
Choice: factors that cancel in the quotient are left out or made to fit: a query's |q|^2 / 2 is
        dropped, its largest feature is 1, and so is the largest of a row's real keys. All of them
        are constants to the gradient, and nothing depends on padding or on other rows. They
        cancel when causal too, though a later key's size then sets the scale of earlier ones.
Choice: no constant is added to the softmax features (the release adds 1e-6 to each).
Choice: one projection serves all heads of a layer. It is a function of (seed, layer, draw) with
        draw = step // redraw_every, and is saved with its number: what was trained is evaluated.
"""

import math
from collections.abc import Callable
from typing import Literal, TypeAlias

import torch
from jaxtyping import Float
from pydantic import Field
from torch import Tensor

from longarena.attention.base import Attention, Mixer, MixerCard, Place, visible_keys
from longarena.attention.kernel import KernelPlan, causal_kernel_attention, kernel_attention
from longarena.options import Options
from longarena.seeding import torch_rng
from longarena.shapes import Heads, Mask, Tokens, Values

Projection: TypeAlias = Float[Tensor, "features size"]

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
    # the signs of the triangle make the basis uniform among all, whatever the library's habit
    basis = basis * triangle.diagonal(dim1=-2, dim2=-1).sign()[:, None, :]
    normal = torch.randn(num_features, size, generator=rng, dtype=torch.float64)
    lengths = torch.linalg.vector_norm(normal, dim=1, keepdim=True)
    directions: Tensor = basis.mT.reshape(-1, size)[:num_features] * lengths
    return directions


def softmax_features(q: Heads, k: Heads, projection: Projection, mask: Mask) -> KernelPlan:
    """Give positive features whose products estimate exp(q . k / sqrt(d)), up to a constant."""
    directions = projection.T * q.shape[-1] ** -0.25
    q_logits, k_logits = q @ directions, k @ directions
    half_square = k.square().sum(dim=-1, keepdim=True) / (2 * math.sqrt(k.shape[-1]))
    with torch.no_grad():
        q_largest = q_logits.amax(dim=-1, keepdim=True)
        hidden = ~visible_keys(mask)[:, None, :, None]
        k_largest = (k_logits.amax(dim=-1, keepdim=True) - half_square).masked_fill(
            hidden, -math.inf
        )
        k_largest = k_largest.amax(dim=2, keepdim=True)
    # an infinite offset leaves a padded key without features
    k_offset = (half_square + k_largest).masked_fill(~mask[:, None, :, None], math.inf)
    # in place: these are the largest tensors of the layer, and only the last result is needed
    return KernelPlan(q_logits.sub_(q_largest).exp_(), k_logits.sub_(k_offset).exp_())


def relu_features(q: Heads, k: Heads, projection: Projection, mask: Mask) -> KernelPlan:
    """Give the features of generalised attention, relu(w . x) + 0.001."""
    directions = projection.T * q.shape[-1] ** -0.25
    q_features, k_features = (
        (x @ directions).add_(RELU_EPSILON).clamp_min(RELU_EPSILON) for x in (q, k)
    )
    return KernelPlan(q_features, k_features.masked_fill(~mask[:, None, :, None], 0.0))


KERNELS: dict[str, Callable[[Heads, Heads, Projection, Mask], KernelPlan]] = {
    "softmax": softmax_features,
    "relu": relu_features,
}


class PerformerOptions(Options):
    """How many random features, of which kernel, and how many steps they last."""

    features: int = Field(128, gt=0)
    kernel: Literal["softmax", "relu"] = "softmax"
    redraw_every: int = Field(1000, gt=0)


class Performer(Attention[KernelPlan]):
    """Multi-head `kernel_attention` with random features."""

    card = MixerCard(
        name="performer",
        title="Performer",
        family="kernels",
        paper="https://arxiv.org/abs/2009.14794",
        year=2020,
        time="N m d (large q and k need far more features m)",
        memory="N m + m d",
        exponent=1.0,
        decodes=True,
        causal=True,
    )
    options_type = PerformerOptions
    projection: Tensor
    draw_number: Tensor

    def __init__(
        self, place: Place, options: PerformerOptions, previous: Mixer | None = None
    ) -> None:
        super().__init__(place, options, previous)
        self.redraw_every = options.redraw_every
        self.features_of = KERNELS[options.kernel]
        self.register_buffer("projection", torch.empty(options.features, place.head_size))
        self.register_buffer("draw_number", torch.zeros((), dtype=torch.int64))
        self.draw(0)

    def begin_step(self, step: int) -> None:
        number = step // self.redraw_every
        if number != int(self.draw_number):
            self.draw(number)

    def draw(self, number: int) -> None:
        """Replace the projection by the one of this number."""
        rng = torch_rng(self.place.seed, "performer", self.place.layer, number)
        num_features, size = self.projection.shape
        self.projection.copy_(orthogonal_directions(num_features, size, rng))
        self.draw_number.fill_(number)

    def plan(self, x: Tokens, mask: Mask) -> KernelPlan:
        q, k = self.split(self.query(x)), self.split(self.key(x))
        return self.features_of(q, k, self.projection, mask)

    def apply(self, plan: KernelPlan, v: Values) -> Values:  # type: ignore[override]
        attend = causal_kernel_attention if self.place.causal else kernel_attention
        return attend(plan, v)

"""Synthesizer: attention weights that are synthesised instead of found by comparing tokens.

    y_i = sum_j softmax_j(S_ij) v_j

    random              S = R                     R: max_length x max_length, learned or fixed
    factorized-random   S = R_1 R_2^T             of rank `rank`, learned or fixed
    dense               S_i = relu(x_i W) T^T     T: max_length x d; each token predicts its logits
    factorized-dense    S_ij = a_i[j // b] b_i[j % b], two such predictions of sqrt(max_length)

With `dot_product` the logits are a mixture of S and q . k / sqrt(d) with two learned weights that
sum to one. A shorter row uses the first rows and columns of every table.

Paper:  Tay et al. (2021), https://arxiv.org/abs/2005.00743
Cost:   time O(N^2 d), since every query attends to every key. Memory O(N d): factorized-random and
        dense are dot products, the other two are computed block by block (`scores.py`). The weights
        of factorized-random are the same for the whole batch and computed once
        (`shared_logits.py`). `random` has H max_length^2 parameters.
Choice: tables start so that logits have unit variance. As elsewhere, nothing has a bias.
Choice: when causal, every softmax is over the logits up to the token itself: of a random table the
        lower triangle, of a prediction as many numbers as there are tokens so far.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import torch
from einops import rearrange
from jaxtyping import Float
from pydantic import Field, model_validator
from torch import Tensor, nn

from longarena.attention.base import Attention, Mixer, Place
from longarena.attention.cards import CARDS
from longarena.attention.ops.cache import Cache
from longarena.attention.ops.decoder import Decoder
from longarena.attention.ops.projection import projection
from longarena.attention.ops.prompt_decoder import PromptDecoder
from longarena.attention.ops.rotary import rotate_by_position
from longarena.attention.ops.scores import (
    DotScores,
    RowScores,
    Scores,
    SharedScores,
    all_logits,
    attend,
    mix,
)
from longarena.errors import UserError
from longarena.options import Options
from longarena.shapes import Heads, Mask, Tokens, Values

# equal for all rows of a batch where nothing depends on the tokens
Logits: TypeAlias = Float[Tensor, "#batch heads length keys"]
Keys: TypeAlias = Float[Tensor, "batch heads keys size"]


class SynthesizerOptions(Options):
    """How the logits are made, and whether dot products are mixed in."""

    variant: Literal["random", "factorized-random", "dense", "factorized-dense"] = (
        "factorized-random"
    )
    rank: int = Field(8, gt=0)
    trainable: bool = True
    dot_product: bool = False

    @model_validator(mode="after")
    def _only_what_the_variant_has(self) -> "SynthesizerOptions":
        if not self.trainable and "random" not in self.variant:
            raise ValueError(f"{self.variant} cannot be fixed; leave trainable=true")
        if self.rank != 8 and self.variant != "factorized-random":
            raise ValueError(f"{self.variant} has no rank; leave it out")
        return self


class Random(nn.Module):
    """One table of logits for every input."""

    table: Tensor

    def __init__(self, place: Place, options: SynthesizerOptions) -> None:
        super().__init__()
        table = torch.randn(place.num_heads, place.max_length, place.max_length)
        register(self, "table", table, options.trainable)

    def forward(self, x: Tokens, first: int = 0) -> RowScores:
        last = first + x.shape[1]
        return RowScores((self.table[None, :, first:last, :last],), lambda logits: logits)


class FactorizedRandom(nn.Module):
    """One table of logits for every input, of low rank."""

    left: Tensor
    right: Tensor

    def __init__(self, place: Place, options: SynthesizerOptions) -> None:
        super().__init__()
        for name in ("left", "right"):
            factor = torch.randn(place.num_heads, place.max_length, options.rank)
            register(self, name, factor * options.rank**-0.25, options.trainable)

    def forward(self, x: Tokens, first: int = 0) -> SharedScores:
        last = first + x.shape[1]
        return SharedScores(self.left[None, :, first:last], self.right[None, :, :last])


class Dense(nn.Module):
    """Two layers that turn each token into its logits; the second is a product with a table."""

    def __init__(self, place: Place, options: SynthesizerOptions) -> None:
        super().__init__()
        self.answer = Answer(place, place.max_length)

    def forward(self, x: Tokens, first: int = 0) -> DotScores:
        last = first + x.shape[1]
        return DotScores(self.answer.hidden(x), self.answer.table[None, :, :last])


class FactorizedDense(nn.Module):
    """Two short predictions for each token; their outer product is its logits."""

    def __init__(self, place: Place, options: SynthesizerOptions) -> None:
        super().__init__()
        coarse = math.ceil(math.sqrt(place.max_length))
        self.coarse = Answer(place, coarse)
        self.fine = Answer(place, math.ceil(place.max_length / coarse))

    def forward(self, x: Tokens, first: int = 0) -> RowScores:
        last = first + x.shape[1]

        def logits(coarse: Tensor, fine: Tensor) -> Tensor:
            return (coarse[..., :, None] * fine[..., None, :]).flatten(-2)[..., :last]

        return RowScores((self.coarse(x), self.fine(x)), logits)


class Answer(nn.Module):
    """Two layers, per head: token -> head size -> `size` numbers."""

    def __init__(self, place: Place, size: int) -> None:
        super().__init__()
        self.num_heads = place.num_heads
        self.inner = projection(place.width, place.qkv_width)
        table = torch.randn(place.num_heads, size, place.head_size)
        self.table = nn.Parameter(table * math.sqrt(2 / place.head_size))

    def hidden(self, x: Tokens) -> Tensor:
        """Return the inner layer, cut into heads."""
        inner: Tensor = self.inner(x).relu()
        return rearrange(inner, "b n (h d) -> b h n d", h=self.num_heads)

    def forward(self, x: Tokens) -> Tensor:
        return self.hidden(x) @ self.table.mT


class DotProduct(nn.Module):
    """The logits of the Transformer."""

    def __init__(self, place: Place) -> None:
        super().__init__()
        self.place = place
        self.query, self.key = (projection(place.width, place.qkv_width) for _ in range(2))

    def forward(self, x: Tokens) -> DotScores:
        return DotScores(self.queries(x), self.keys(x))

    def queries(self, x: Tokens, first: int = 0) -> Heads:
        """Return the queries of tokens that stand from `first` on, scaled."""
        return self._heads(self.query(x), first) / math.sqrt(self.place.head_size)

    def keys(self, x: Tokens, first: int = 0) -> Heads:
        """Return the keys of tokens that stand from `first` on."""
        return self._heads(self.key(x), first)

    def _heads(self, t: Tokens, first: int) -> Heads:
        heads = rearrange(t, "b n (h d) -> b h n d", h=self.place.num_heads)
        return rotate_by_position(heads, first=first) if self.place.rotary else heads


class Mixture(nn.Module):
    """Synthesised logits and dot products, with two learned weights that sum to one."""

    def __init__(self, synthetic: nn.Module, place: Place) -> None:
        super().__init__()
        self.synthetic = synthetic
        self.dot_product = DotProduct(place)
        self.balance = nn.Parameter(torch.zeros(2))

    def forward(self, x: Tokens) -> Scores:
        return mix(self.balance.softmax(dim=0), self.synthetic(x), self.dot_product(x))

    def last_logits(self, x: Tokens, first: int, k: Keys) -> Logits:
        """Return the logits of tokens that stand from `first` on, given the keys of all so far."""
        made_up, compared = self.balance.softmax(dim=0)
        dot_products = self.dot_product.queries(x, first) @ k.mT
        logits: Tensor = made_up * all_logits(self.synthetic(x, first)) + compared * dot_products
        return logits


VARIANTS: dict[str, Callable[[Place, SynthesizerOptions], nn.Module]] = {
    "random": Random,
    "factorized-random": FactorizedRandom,
    "dense": Dense,
    "factorized-dense": FactorizedDense,
}


def register(module: nn.Module, name: str, values: Tensor, trainable: bool) -> None:
    """Register a tensor that is trained, or one that is only saved."""
    if trainable:
        module.register_parameter(name, nn.Parameter(values))
    else:
        module.register_buffer(name, values)


@dataclass(frozen=True)
class SynthesizerPlan:
    """The logits, in their cheapest form, and the mask of the real keys."""

    scores: Scores
    mask: Mask


class Synthesizer(Attention[SynthesizerPlan]):
    """Softmax attention with synthesised logits."""

    card = CARDS["synthesizer"]
    options_type = SynthesizerOptions
    takes_rotary = True
    projections = ("value", "output")

    def __init__(
        self, place: Place, options: SynthesizerOptions, previous: Mixer | None = None
    ) -> None:
        super().__init__(place, options, previous)
        if place.rotary and not options.dot_product:
            raise UserError(
                "synthesizer compares no queries with keys that could be rotated; choose "
                "positions=learned or dot_product=true"
            )
        synthetic = VARIANTS[options.variant](place, options)
        self.scores = Mixture(synthetic, place) if options.dot_product else synthetic

    def plan(self, x: Tokens, mask: Mask) -> SynthesizerPlan:
        return SynthesizerPlan(self.scores(x), mask)

    def apply(self, plan: SynthesizerPlan, v: Values) -> Values:  # type: ignore[override]
        return attend(plan.scores, v, plan.mask, self.place.causal)

    def decoder(self, batch: int) -> Decoder:
        if isinstance(self.scores, Mixture):
            return MixtureDecoder(self, batch, self.scores)
        return SynthesizerDecoder(self, batch)


class SynthesizerDecoder(PromptDecoder):
    """Keep the values of all tokens."""

    def __init__(self, mixer: Synthesizer, batch: int) -> None:
        super().__init__(mixer)
        self.mixer = mixer
        self.v = Cache(mixer.zeros(batch, mixer.place.num_heads, mixer.place.head_size))

    def remember(self, x: Tokens) -> None:
        self.v.extend(self.mixer.split(self.mixer.value(x)))

    def mix(self, x: Tokens) -> Tokens:
        self.remember(x)
        return self.mixer.merged(self.logits(x).softmax(dim=-1) @ self.v.rows)

    def logits(self, x: Tokens) -> Logits:
        """Return the logits of the token at `position`."""
        return all_logits(self.mixer.scores(x, self.position))


class MixtureDecoder(SynthesizerDecoder):
    """Keep the keys that queries are compared with too."""

    def __init__(self, mixer: Synthesizer, batch: int, mixture: Mixture) -> None:
        super().__init__(mixer, batch)
        self.mixture = mixture
        self.k = Cache(mixer.zeros(batch, mixer.place.num_heads, mixer.place.head_size))

    def remember(self, x: Tokens) -> None:
        super().remember(x)
        self.k.extend(self.mixture.dot_product.keys(x, self.position))

    def logits(self, x: Tokens) -> Logits:
        return self.mixture.last_logits(x, self.position, self.k.rows)

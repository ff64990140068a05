"""The encoder: depth x [norm, mixer, norm, MLP], each half added to what came in.

    x = x + dropout(mixer(norm(x)))
    x = x + mlp(norm(x))

The second half is left out where the recipe or the mixer asks for an MLP of width 0.

Choice: pre-norm, a last norm and a Xavier-uniform MLP, as in the release; GELU in its exact form.
Choice: an MLP in chunks computes each chunk again in the backward pass. Cutting alone would save
        nothing while training: autograd keeps the wide activations of every chunk. Measured
        (`linear`, 4 layers, 4 x 2,048 tokens, 8 chunks): 289 of 567 MB, 14 % more time.
Choice: `recompute` keeps what goes into a layer and computes the rest again in the backward pass.
        Measured in the same way: 200 of 567 MB, 24 % more time.
"""

from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from longarena import attention
from longarena.attention import Mixer
from longarena.attention.own import is_own, try_out
from longarena.errors import UserError
from longarena.model.config import ModelConfig
from longarena.model.dropout import Dropout
from longarena.model.norms import NORMS
from longarena.model.reversible import run_reversible
from longarena.seeding import seeded
from longarena.shapes import Mask, Tokens


class FeedForward(nn.Sequential):
    """Two linear maps with a GELU between them, on each position by itself.

    `chunks` pieces of a sequence are computed one after the other.
    """

    def __init__(self, width: int, hidden: int, dropout: float, chunks: int = 1) -> None:
        widen, narrow = nn.Linear(width, hidden), nn.Linear(hidden, width)
        for linear in (widen, narrow):
            nn.init.xavier_uniform_(linear.weight)
            nn.init.zeros_(linear.bias)
        super().__init__(widen, nn.GELU(), Dropout(dropout), narrow, Dropout(dropout))
        self.chunks = chunks

    def forward(self, x: Tokens) -> Tokens:
        if self.chunks == 1:
            y: Tensor = super().forward(x)  # type: ignore[no-untyped-call]
            return y
        pieces = x.chunk(self.chunks, dim=1)
        return torch.cat([self._run_piece(piece) for piece in pieces], dim=1)

    def _run_piece(self, piece: Tokens) -> Tokens:
        y: Tensor = checkpoint(super().forward, piece, use_reentrant=False)
        return y


class MixingLayer(nn.Module):
    """One mixer behind a norm and beside a residual path: a layer without a feed-forward."""

    def __init__(self, config: ModelConfig, mixer: Mixer) -> None:
        super().__init__()
        self.mixer_norm = NORMS[config.norm](config.width)
        self.mixer = mixer
        self.dropout = Dropout(config.dropout)

    def forward(self, x: Tokens, mask: Mask) -> Tokens:
        return x + self.mix(x, mask)

    def mix(self, x: Tokens, mask: Mask) -> Tokens:
        """Run the half in which positions talk."""
        y: Tensor = self.dropout(self.mixer(self.mixer_norm(x, mask), mask))
        return y


class Layer(MixingLayer):
    """One mixer and one MLP, each behind a norm and beside a residual path."""

    def __init__(self, config: ModelConfig, mixer: Mixer, mlp_width: int) -> None:
        super().__init__(config, mixer)
        self.mlp_norm = NORMS[config.norm](config.width)
        self.mlp = FeedForward(config.width, mlp_width, config.dropout, config.mlp_chunks)

    def forward(self, x: Tokens, mask: Mask) -> Tokens:
        x = super().forward(x, mask)
        return x + self.feed(x, mask)

    def feed(self, x: Tokens, mask: Mask) -> Tokens:
        """Run the half that changes each position by itself."""
        y: Tensor = self.mlp(self.mlp_norm(x, mask))
        return y


class Encoder(nn.Module):
    """A stack of layers, ordinary or reversible, one around each of the given mixers."""

    def __init__(self, config: ModelConfig, mixers: list[Mixer]) -> None:
        super().__init__()
        self.layers = nn.ModuleList(build_layer(config, mixer) for mixer in mixers)
        self.norm = NORMS[config.norm](config.width)
        self.reversible, self.recompute = config.reversible, config.recompute

    def forward(self, x: Tokens, mask: Mask) -> Tokens:
        if self.reversible:
            layers: list[Layer] = [*self.layers]
            x = run_reversible(layers, x, mask, list(self.layers.parameters()))
        else:
            for layer in self.layers:
                x = self._run(layer, x, mask)
        y: Tensor = self.norm(x, mask)
        return y

    def _run(self, layer: nn.Module, x: Tokens, mask: Mask) -> Tokens:
        """Run a layer; with `recompute`, keep only its input and compute the rest again later."""
        y: Tensor = (
            checkpoint(layer, x, mask, use_reentrant=False) if self.recompute else layer(x, mask)
        )
        return y

    def mixers(self) -> Iterator[Mixer]:
        """Yield the mixer of every layer, lowest first."""
        for layer in self.layers:
            yield layer.mixer  # type: ignore[misc]


def build_layer(config: ModelConfig, mixer: Mixer) -> MixingLayer:
    """Build the layer around a mixer, with a feed-forward unless it or the recipe wants none."""
    mlp_width = mixer.mlp_width(config.mlp_width)
    if mlp_width:
        return Layer(config, mixer, mlp_width)
    if config.reversible:
        raise UserError(
            "reversible layers need a feed-forward as their second half; use reversible=false"
        )
    return MixingLayer(config, mixer)


def build_mixers(
    config: ModelConfig, max_length: int, seed: int, causal: bool = False
) -> list[Mixer]:
    """Build the mixer of every layer, lowest first; each is given the one below it.

    A mixer with positions of its own is given none, rotary ones as little as added ones. One from
    outside is tried on a few tokens before anything else is done with it.
    """
    has_own = attention.find(config.mixer).has_own_positions
    mixers: list[Mixer] = []
    for layer in range(config.depth):
        mixer = attention.build(
            config.mixer,
            width=config.width,
            qkv_width=config.qkv_width,
            num_heads=config.num_heads,
            max_length=max_length,
            layer=layer,
            depth=config.depth,
            seed=seed,
            options=config.options,
            causal=causal,
            rotary=config.positions == "rotary" and not has_own,
            previous=mixers[-1] if mixers else None,
        )
        if config.reversible and type(mixer).extra_loss is not Mixer.extra_loss:
            raise UserError(
                f"{config.mixer} has a loss of its own, which reversible layers cannot train; "
                "use reversible=false"
            )
        mixers.append(mixer)
    if is_own(type(mixers[0])):
        with seeded(seed, "trial"):
            try_out(mixers[0], config.width, max_length)
    return mixers

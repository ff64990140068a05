"""The encoder: depth x [norm, mixer, norm, MLP], each half added to what came in.

    x = x + dropout(mixer(norm(x)))
    x = x + mlp(norm(x))

Choice: pre-norm, a last norm and a Xavier-uniform MLP, as in the release; GELU in its exact form.
Choice: an MLP in chunks computes each chunk again in the backward pass. Cutting alone would save
        nothing while training, for autograd keeps the wide activations of every chunk. Measured
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
from longarena.errors import UserError
from longarena.model.config import ModelConfig
from longarena.model.reversible import run_reversible
from longarena.shapes import Mask, Tokens

NORM_EPSILON = 1e-6


class FeedForward(nn.Sequential):
    """Widen, bend, narrow: each position by itself, `chunks` pieces of a sequence in turn."""

    def __init__(self, width: int, hidden: int, dropout: float, chunks: int = 1) -> None:
        widen, narrow = nn.Linear(width, hidden), nn.Linear(hidden, width)
        for linear in (widen, narrow):
            nn.init.xavier_uniform_(linear.weight)
            nn.init.zeros_(linear.bias)
        super().__init__(widen, nn.GELU(), nn.Dropout(dropout), narrow, nn.Dropout(dropout))
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


class Layer(nn.Module):
    """One mixer and one MLP, each behind a norm and beside a residual path."""

    def __init__(self, config: ModelConfig, mixer: Mixer) -> None:
        super().__init__()
        self.mixer_norm = nn.LayerNorm(config.width, NORM_EPSILON)
        self.mixer = mixer
        self.dropout = nn.Dropout(config.dropout)
        self.mlp_norm = nn.LayerNorm(config.width, NORM_EPSILON)
        hidden = mixer.mlp_width(config.mlp_width)
        self.mlp = FeedForward(config.width, hidden, config.dropout, config.mlp_chunks)

    def forward(self, x: Tokens, mask: Mask) -> Tokens:
        x = x + self.mix(x, mask)
        return x + self.feed(x)

    def mix(self, x: Tokens, mask: Mask) -> Tokens:
        """Run the half in which positions talk."""
        y: Tensor = self.dropout(self.mixer(self.mixer_norm(x), mask))
        return y

    def feed(self, x: Tokens) -> Tokens:
        """Run the half that changes each position by itself."""
        y: Tensor = self.mlp(self.mlp_norm(x))
        return y


class Encoder(nn.Module):
    """A stack of layers around the mixers that it is given, ordinary or reversible."""

    def __init__(self, config: ModelConfig, mixers: list[Mixer]) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Layer(config, mixer) for mixer in mixers)
        self.norm = nn.LayerNorm(config.width, NORM_EPSILON)
        self.reversible, self.recompute = config.reversible, config.recompute

    def forward(self, x: Tokens, mask: Mask) -> Tokens:
        if self.reversible:
            layers: list[Layer] = [*self.layers]
            x = run_reversible(layers, x, mask, list(self.layers.parameters()))
        else:
            for layer in self.layers:
                x = self._run(layer, x, mask)
        y: Tensor = self.norm(x)
        return y

    def _run(self, layer: nn.Module, x: Tokens, mask: Mask) -> Tokens:
        """Run a layer; if asked, keep only what went in and compute the rest again later."""
        y: Tensor = (
            checkpoint(layer, x, mask, use_reentrant=False) if self.recompute else layer(x, mask)
        )
        return y

    def mixers(self) -> Iterator[Mixer]:
        """Yield the mixer of every layer, lowest first."""
        for layer in self.layers:
            yield layer.mixer  # type: ignore[misc]


def build_mixers(config: ModelConfig, max_length: int, seed: int) -> list[Mixer]:
    """Build the mixer of every layer, lowest first; each is shown the one below it."""
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
            previous=mixers[-1] if mixers else None,
        )
        if config.reversible and type(mixer).extra_loss is not Mixer.extra_loss:
            raise UserError(
                f"{config.mixer} has a loss of its own, which reversible layers cannot train; "
                "use reversible=false"
            )
        mixers.append(mixer)
    return mixers

"""The encoder: depth x [norm, mixer, norm, MLP], each half added to what came in.

    x = x + dropout(mixer(norm(x)))
    x = x + mlp(norm(x))

Choice: pre-norm, a last norm and a Xavier-uniform MLP, as in the release; GELU in its exact form.
"""

from collections.abc import Iterator

from torch import Tensor, nn

from longarena import attention
from longarena.attention import Mixer
from longarena.model.config import ModelConfig
from longarena.shapes import Mask, Tokens

NORM_EPSILON = 1e-6


class FeedForward(nn.Sequential):
    """Widen, bend, narrow: each position by itself."""

    def __init__(self, width: int, hidden: int, dropout: float) -> None:
        widen, narrow = nn.Linear(width, hidden), nn.Linear(hidden, width)
        for linear in (widen, narrow):
            nn.init.xavier_uniform_(linear.weight)
            nn.init.zeros_(linear.bias)
        super().__init__(widen, nn.GELU(), nn.Dropout(dropout), narrow, nn.Dropout(dropout))


class Layer(nn.Module):
    """One mixer and one MLP, each behind a norm and beside a residual path."""

    def __init__(self, config: ModelConfig, mixer: Mixer) -> None:
        super().__init__()
        self.mixer_norm = nn.LayerNorm(config.width, NORM_EPSILON)
        self.mixer = mixer
        self.dropout = nn.Dropout(config.dropout)
        self.mlp_norm = nn.LayerNorm(config.width, NORM_EPSILON)
        self.mlp = FeedForward(config.width, config.mlp_width, config.dropout)

    def forward(self, x: Tokens, mask: Mask) -> Tokens:
        x = x + self.dropout(self.mixer(self.mixer_norm(x), mask))
        y: Tensor = x + self.mlp(self.mlp_norm(x))
        return y


class Encoder(nn.Module):
    """A stack of layers; it hands the hooks of training to every mixer in it."""

    def __init__(self, config: ModelConfig, max_length: int, seed: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList()
        previous: Mixer | None = None
        for layer in range(config.depth):
            previous = attention.build(
                config.mixer,
                width=config.width,
                num_heads=config.num_heads,
                max_length=max_length,
                layer=layer,
                depth=config.depth,
                seed=seed,
                options=config.options,
                previous=previous,
            )
            self.layers.append(Layer(config, previous))
        self.norm = nn.LayerNorm(config.width, NORM_EPSILON)

    def forward(self, x: Tokens, mask: Mask) -> Tokens:
        for layer in self.layers:
            x = layer(x, mask)
        y: Tensor = self.norm(x)
        return y

    def mixers(self) -> Iterator[Mixer]:
        """Yield the mixer of every layer, lowest first."""
        for layer in self.layers:
            yield layer.mixer  # type: ignore[misc]

"""A causal model token by token: what generation does.

    stepper = Stepper(model)
    logits = stepper.start(prompt)     of the token after these: (B, N) in, (B, vocabulary) out
    logits = stepper.read(ids)         of the token after some more
    stepper.num_bytes                  what is carried to the next token

Embedding, norms, feed-forward and head see one position at a time anyway; each mixer has a decoder
that carries what it needs of the past. The result is that of the whole model on the whole
sequence, up to rounding. Reversible layers go on as two streams, as in training.

A prompt is read in the parallel form, and with it what stands before every sequence, because many
decoders read in parallel only what nothing came before.

Choice: a model whose embedding adds positions, learned or sinusoidal, ends where their table ends,
        and one whose mixers have no decoder of their own where these end. Any other can go on for
        ever, though nobody has trained it on what comes then.
"""

from copy import copy
from typing import TypeAlias

import torch
from jaxtyping import Float
from torch import Tensor, nn

from longarena.attention.base import Replay
from longarena.attention.ops.decoder import Decoder
from longarena.errors import UserError
from longarena.model.encoder import Layer, MixingLayer
from longarena.model.heads import NextTokenHead
from longarena.model.model import Model
from longarena.shapes import Ids, Mask, Tokens

NextLogits: TypeAlias = Float[Tensor, "batch vocabulary"]


class Stepper:
    """Goes through a model in the order of the tokens, `batch` rows side by side."""

    def __init__(self, model: Model, batch: int = 1) -> None:
        if not isinstance(model.head, NextTokenHead):
            raise UserError("only a model that predicts tokens can go token by token")
        if not isinstance(model.backbone.embedding.token, nn.Embedding):
            raise UserError("a model with input=value cannot go token by token; use input=embed")
        self.backbone, self.output = model.backbone, model.head.output
        model.eval()
        self.batch = batch
        self.layers: list[Layer] = [*self.backbone.encoder.layers]
        self.decoders = [layer.mixer.start(batch) for layer in self.layers]
        self.num_read = 0

    def fork(self) -> "Stepper":
        """Return a copy that goes its own way from here."""
        other = copy(self)
        other.decoders = [decoder.fork() for decoder in self.decoders]
        return other

    @property
    def most_tokens(self) -> int | None:
        """How many tokens it can read after the start; None if there is no end."""
        position = self.backbone.embedding.position
        ends = [] if position is None else [len(position)]
        ends += [each.mixer.place.max_length for each in self.decoders if isinstance(each, Replay)]
        return min(ends) - self.backbone.num_prepended if ends else None

    @property
    def num_tokens(self) -> int:
        """How many tokens it has read after the start."""
        return self.num_read - self.backbone.num_prepended

    @property
    def num_bytes(self) -> int:
        """The size of what all layers carry to the next token."""
        return sum(decoder.num_bytes for decoder in self.decoders)

    def start(self, prompt: Ids | None = None) -> NextLogits:
        """Read the tokens that stand before every sequence, and a prompt with them."""
        device = next(self.backbone.parameters()).device
        first = self.backbone.prepended_ids(device).expand(self.batch, -1)
        return self.read(first if prompt is None else torch.cat([first, prompt], dim=1))

    @torch.inference_mode()
    def read(self, ids: Ids) -> NextLogits:
        """Read the next tokens of every row; return the logits of the one that follows."""
        most = self.most_tokens
        if most is not None and self.num_tokens + ids.shape[1] > most:
            raise UserError(
                f"this model reads at most {most:,} tokens; generate fewer, or train it with a "
                "longer task.length"
            )
        x = self.backbone.embedding(ids, self.num_read)
        self.num_read += ids.shape[1]
        mask = torch.ones_like(ids, dtype=torch.bool)
        encoder = self.backbone.encoder
        y = self._run_reversible(x, mask) if encoder.reversible else self._run(x, mask)
        logits: Tensor = self.output(encoder.norm(y, mask)[:, -1])
        return logits

    def _run(self, x: Tokens, mask: Mask) -> Tokens:
        for layer, decoder in zip(self.layers, self.decoders, strict=True):
            x = x + mix(layer, decoder, x, mask)
            if isinstance(layer, Layer):
                x = x + layer.feed(x, mask)
        return x

    def _run_reversible(self, x: Tokens, mask: Mask) -> Tokens:
        first = second = x
        for layer, decoder in zip(self.layers, self.decoders, strict=True):
            first = first + mix(layer, decoder, second, mask)
            second = second + layer.feed(first, mask)
        return (first + second) / 2


def mix(layer: MixingLayer, decoder: Decoder, x: Tokens, mask: Mask) -> Tokens:
    """Run the half of a layer in which positions talk, with the decoder for its mixer.

    A token alone is a step: what reads many at once may prepare for a whole block of them.
    """
    x = layer.mixer_norm(x, mask)
    return decoder.step(x[:, 0])[:, None] if x.shape[1] == 1 else decoder.read(x)

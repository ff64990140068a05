"""The decoder of a translation model token by token, for several hypotheses of each sentence.

    stepper = TargetStepper(model, source, beam=4)       rows: the hypotheses of a sentence in a row
    logits = stepper.start()                             of the first token of each row
    logits = stepper.read(ids)                           of the token after these
    stepper.choose(rows)                                 go on with other hypotheses

The source is encoded once. The hypotheses of a sentence read the same keys and values: to cross
attention they are the tokens of one row.
"""

import torch
from einops import rearrange
from jaxtyping import Int
from torch import Tensor

from longarena.model.decoder import DecoderLayer, Memory
from longarena.model.stepping import NextLogits, mix
from longarena.model.translation import TranslationModel
from longarena.shapes import Ids, Mask, Tokens

Rows = Int[Tensor, " rows"]


class TargetStepper:
    """Writes hypotheses side by side, `beam` of every sentence that is left."""

    def __init__(self, model: TranslationModel, source: Ids, beam: int = 1) -> None:
        model.eval()
        self.model, self.beam = model, beam
        self.layers: list[DecoderLayer] = [*model.decoder.layers]
        with torch.inference_mode():
            self.memories = model.read(source)
        self.decoders = [mixer.start(beam * len(source)) for mixer in model.decoder.mixers()]
        self.num_read = 0
        self.num_rows = beam * len(source)

    def start(self) -> NextLogits:
        """Read what stands before every translation: the end token."""
        ends = torch.full((self.num_rows, 1), self.model.end, device=self.memories[0].k.device)
        return self._advance(self.model.decoder.begun(ends))

    def read(self, ids: Rows) -> NextLogits:
        """Read the next token of every row; return the logits of the one that follows."""
        return self._advance(ids[:, None])

    def choose(self, rows: Rows) -> None:
        """Go on with these rows, in this order: `beam` of every sentence that is to go on."""
        if torch.equal(rows, torch.arange(self.num_rows, device=rows.device)):
            return
        for decoder in self.decoders:
            decoder.choose(rows)
        if len(rows) != self.num_rows:
            sentences = rows[:: self.beam] // self.beam
            self.memories = [memory.of(sentences) for memory in self.memories]
            self.num_rows = len(rows)

    @torch.inference_mode()
    def _advance(self, ids: Ids) -> NextLogits:
        x = self.model.decoder.embedding(ids, self.num_read)
        self.num_read += ids.shape[1]
        mask = torch.ones_like(ids, dtype=torch.bool)
        for layer, decoder, memory in zip(self.layers, self.decoders, self.memories, strict=True):
            x = x + mix(layer.own, decoder, x, mask)
            x = x + self._look(layer, x, mask, memory)
            x = layer.finish(x, mask)
        logits: Tensor = self.model.head(self.model.decoder.norm(x, mask)[:, -1:])
        return logits[:, 0]

    def _look(self, layer: DecoderLayer, x: Tokens, mask: Mask, memory: Memory) -> Tokens:
        """Let all hypotheses of a sentence read it at once."""
        length = x.shape[1]
        x, mask = (rearrange(t, "(s k) n ... -> s (k n) ...", k=self.beam) for t in (x, mask))
        return rearrange(layer.look(x, mask, memory), "s (k n) d -> (s k) n d", n=length)

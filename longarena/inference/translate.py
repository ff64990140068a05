"""Translate sentences with a trained model."""

from collections.abc import Sequence

import torch

from longarena.data.tokens import Tokeniser
from longarena.errors import UserError
from longarena.model.beam_search import translate
from longarena.model.decoding import Decoding
from longarena.model.translation import TranslationModel

BATCH_SIZE = 32


class Translator:
    """A model with what turns text into tokens and back."""

    def __init__(self, model: TranslationModel, tokeniser: Tokeniser, decoding: Decoding) -> None:
        self.model, self.tokeniser, self.decoding = model, tokeniser, decoding

    def translate(self, sentences: Sequence[str]) -> list[str]:
        """Translate sentences, in their order; an empty one stays empty."""
        rows = self.tokeniser.encode_all(sentences)
        for number, row in enumerate(rows, start=1):
            if len(row) > self.model.max_length:
                raise UserError(
                    f"sentence {number} has {len(row):,} tokens, and this model reads at most "
                    f"{self.model.max_length:,}; cut it in two"
                )
        # sentences of one length side by side: no step computes much padding
        order = sorted((i for i, row in enumerate(rows) if row), key=lambda i: len(rows[i]))
        found = [""] * len(rows)
        for start in range(0, len(order), BATCH_SIZE):
            chosen = order[start : start + BATCH_SIZE]
            for i, text in zip(chosen, self._batch([rows[i] for i in chosen]), strict=True):
                found[i] = text
        return found

    def _batch(self, rows: Sequence[Sequence[int]]) -> list[str]:
        device = next(self.model.parameters()).device
        ids = torch.zeros(len(rows), max(map(len, rows)), dtype=torch.int64)
        for i, row in enumerate(rows):
            # the id of a token is one more: 0 is padding
            ids[i, : len(row)] = torch.tensor(row) + 1
        found = translate(self.model, ids.to(device), self.decoding)
        texts = [self.tokeniser.decode([each - 1 for each in one.ids]) for one in found]
        return [text.replace("\n", " ") for text in texts]

"""Translate sentences with the model of a run."""

from collections.abc import Mapping, Sequence

import torch

from longarena.data.parallel import ParallelDataset
from longarena.data.tokens import Tokeniser
from longarena.errors import UserError
from longarena.model.beam_search import translate
from longarena.model.decoding import Decoding
from longarena.model.translation import TranslationModel
from longarena.options import Value, parse
from longarena.recipes.recipe import build_task
from longarena.tasks.base import default_home
from longarena.tasks.prepare import open_prepared
from longarena.tracks import track_of
from longarena.tracks.translation import Translation
from longarena.training.best import load_best
from longarena.training.folder import RunFolder

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


def translator(folder: RunFolder, decoding: Mapping[str, Value] | None = None) -> Translator:
    """Load the best parameters of a run that translates; `decoding` changes how it searches."""
    recipe = folder.read_recipe()
    task = build_task(recipe)
    track = track_of(task.signature)
    if not isinstance(track, Translation):
        raise UserError(
            f"run {folder.path.name} is of the track {task.signature.track}, which translates "
            "nothing; choose a run of multi30k or of two files of sentences"
        )
    chosen = parse(Decoding, recipe.decoding.model_dump() | dict(decoding or {}), "decoding")
    model = track.build(recipe.model, task.signature, recipe.seed)
    load_best(model, folder)
    data = open_prepared(task, default_home(), verify=False)
    if not isinstance(data, ParallelDataset):
        raise TypeError("only a dataset of pairs of sentences has a tokeniser")
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    return Translator(model.to(device), data.tokeniser, chosen)

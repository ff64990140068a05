"""Answers of a classifier to rows of tokens: the likeliest class, and how likely every class is."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from longarena.data.batches import evaluation_batches, evaluation_order
from longarena.data.dataset import Chunk, DiskTokens, Split, collect
from longarena.model.model import Model

# of one batch: long sequences go through a model a few at a time
NUM_TOKENS = 16_384

Example = tuple[DiskTokens, ...]  # the tokens of one sequence, or of the two of a pair


@dataclass(frozen=True)
class Prediction:
    """The likeliest class, its probability, and the probabilities of all classes in their order."""

    label: str
    probability: float
    probabilities: tuple[float, ...]


def as_split(examples: Sequence[Example]) -> Split:
    """Hold examples as a split whose labels mean nothing."""
    chunks = (
        Chunk(np.concatenate(example), np.array([*map(len, example)]), np.zeros(1, np.int64))
        for example in examples
    )
    return collect(chunks, num_sequences=len(examples[0]))


@torch.inference_mode()
def predict(model: Model, examples: Sequence[Example], classes: Sequence[str]) -> list[Prediction]:
    """Let a classifier answer examples, in their order."""
    if not examples:
        return []
    split, device = as_split(examples), next(model.parameters()).device
    batch_size = max(1, NUM_TOKENS // int(split.num_tokens.max()))
    found = [
        model(batch.ids.to(device)).float().softmax(dim=1).cpu()
        for batch in evaluation_batches(split, batch_size)
    ]
    back = torch.from_numpy(np.argsort(evaluation_order(split)))
    return [_prediction(row, classes) for row in torch.cat(found)[back]]


def _prediction(row: Tensor, classes: Sequence[str]) -> Prediction:
    best = int(row.argmax())
    return Prediction(classes[best], float(row[best]), tuple(row.tolist()))

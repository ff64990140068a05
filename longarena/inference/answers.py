"""Answer the examples of a file, some at a time and in their order, as the model was trained.

What is longer than the model reads is cut, and an example with nothing to read has no answer; both
are said of each example, so that nothing is left out unnoticed.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from longarena.errors import UserError
from longarena.inference.examples import Given
from longarena.inference.predictions import Example, Prediction
from longarena.inference.trained import TrainedModel

BLOCK = 256


@dataclass(frozen=True)
class Answer:
    """What a model says of an example: nothing where there was nothing to read."""

    place: str
    prediction: Prediction | None
    is_cut: bool


def answers(model: TrainedModel, examples: Iterable[Given]) -> Iterator[Answer]:
    """Answer examples in their order."""
    rest = iter(examples)
    while block := list(islice(rest, BLOCK)):
        rows = [encode(model, example) for example in block]
        is_empty = [not all(map(len, row)) for row in rows]
        asked = [row for row, empty in zip(rows, is_empty, strict=True) if not empty]
        found = iter(model.predict_tokens(asked))
        for example, row, empty in zip(block, rows, is_empty, strict=True):
            is_cut = any(len(tokens) > model.max_length for tokens in row)
            yield Answer(example.place, None if empty else next(found), is_cut)


def encode(model: TrainedModel, example: Given) -> Example:
    """Turn an example into tokens; an error says where it stands."""
    try:
        return model.encode(example.parts)
    except UserError as error:
        raise UserError(f"{example.place}: {error}") from None

"""Which examples go where: held out for validation, left out of a smaller version, written.

The rules are fixed, so that a split is the same on every machine and for every source of the data.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from longarena.data.dataset import Chunk, Integers

VALID_SHARE = 0.1
CHUNK = 500

Example = tuple[tuple[bytes, ...], int]  # the sequences of an example, one or two, and its label


def held_out(labels: Integers, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Mark a tenth of each class for validation, at random, and at least one example."""
    chosen = np.zeros(len(labels), bool)
    for label in np.unique(labels):
        of_class = rng.permutation(np.flatnonzero(labels == label))
        chosen[of_class[: scaled(len(of_class), VALID_SHARE)]] = True
    return chosen


def scaled(count: int, size: float) -> int:
    """Return how many of `count` examples a version of this size has: at least one.

    >>> scaled(2000, 0.01), scaled(20, 0.01), scaled(0, 0.01)
    (20, 1, 0)
    """
    return min(count, max(1, round(count * size)))


def kept(start: int, number: int, size: float) -> NDArray[np.bool_]:
    """Mark an even share of `number` examples that are counted from `start`.

    >>> kept(0, 5, 0.4).tolist()
    [True, False, False, True, False]
    """
    reached = np.array([scaled(start + i, size) for i in range(number + 1)])
    return np.diff(reached) > 0


def thinned(chunk: Chunk, start: int, size: float) -> Chunk:
    """Keep an even share of the examples numbered from `start`: of n, `scaled(n, size)` in all."""
    number = len(chunk.labels)
    if size == 1 or number == 0:
        return chunk
    keep = kept(start, number, size)
    lengths = chunk.lengths.reshape(number, -1)
    return Chunk(
        tokens=chunk.tokens[np.repeat(keep, lengths.sum(axis=1))],
        lengths=lengths[keep].reshape(-1),
        labels=chunk.labels[keep],
    )


def chunks(split: str, examples: Sequence[Example]) -> Iterator[tuple[str, Chunk]]:
    """Pack the examples of a split for a dataset, some hundreds at a time."""
    for start in range(0, len(examples), CHUNK):
        part = examples[start : start + CHUNK]
        sequences = [sequence for sequences, _ in part for sequence in sequences]
        yield (
            split,
            Chunk(
                tokens=np.frombuffer(b"".join(sequences), np.uint8),
                lengths=np.array([len(sequence) for sequence in sequences], np.int64),
                labels=np.array([label for _, label in part], np.int64),
            ),
        )

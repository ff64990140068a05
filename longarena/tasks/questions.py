"""What the probes share: questions at positions of random sequences, and how a person reads them.

Every split draws from a stream of its own, so that a smaller split is the beginning of a larger one
and no split depends on the size of another.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from longarena.data.dataset import TOKEN_TYPES, Chunk, DiskTokens, token_type
from longarena.seeding import numpy_rng
from longarena.tasks.base import Task
from longarena.tasks.splits import CHUNK

NOTHING = 0  # asked where nothing is asked
NUM_DEPTHS = 10
SHORTEST = 64
ROW = 20  # tokens of an example in one line

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Questions:
    """Some examples of one length: what is read, what is asked at each position, and how deep.

    The depth of an example is the tenth of it in which the answer stands, 0 for the first.
    """

    read: Numbers
    asked: Numbers
    depths: Numbers

    def chunk(self, number: int, vocab_size: int) -> Chunk:
        """Pack the first `number` examples for a dataset."""
        pairs = np.stack([self.read, self.asked], axis=1)[:number]
        return Chunk(
            tokens=pairs.reshape(-1).astype(TOKEN_TYPES[token_type(vocab_size)]),
            lengths=np.full(2 * number, self.read.shape[1], np.int64),
            labels=self.depths[:number],
        )


Draw = Callable[[np.random.Generator, int, str], Questions]


def generate(task: Task, sizes: Mapping[str, int], draw: Draw) -> Iterator[tuple[str, Chunk]]:
    """Yield the examples of each split; `draw` makes so many of them for a split."""
    vocab_size = task.signature.vocab_size
    for split, size in sizes.items():
        rng = numpy_rng(task.card.version, task.card.name, split)
        for start in range(0, size, CHUNK):
            # a whole chunk even where less is wanted: what comes first must not depend on that
            yield split, draw(rng, CHUNK, split).chunk(min(CHUNK, size - start), vocab_size)


def distinct(rng: np.random.Generator, rows: int, count: int, low: int, high: int) -> Numbers:
    """Draw `count` different numbers from low ... high - 1 for each row, in random order.

    Floyd's algorithm, one column at a time: a number that is drawn again is replaced by the largest
    that could be drawn, which no column has yet.
    """
    found = np.full((rows, count), -1, np.int64)
    for column, largest in enumerate(range(high - low - count, high - low)):
        drawn = rng.integers(0, largest + 1, rows)
        is_taken = (found == drawn[:, None]).any(axis=1)
        found[:, column] = np.where(is_taken, largest, drawn)
    order = rng.random((rows, count)).argsort(axis=1)
    return low + np.take_along_axis(found, order, axis=1)


def tenths(places: Numbers, num_places: int) -> Numbers:
    """Return the tenth of all places to which each belongs.

    >>> tenths(np.array([0, 6, 63]), 64).tolist()
    [0, 0, 9]
    """
    return NUM_DEPTHS * places // num_places


def doubled(length: int, longest: int, shortest: int = SHORTEST) -> tuple[int, ...]:
    """List a length and the powers of two from the shortest to the longest, in order.

    >>> doubled(100, 512)
    (64, 100, 128, 256, 512)
    """
    powers = {2**i for i in range(longest.bit_length()) if shortest <= 2**i <= longest}
    return tuple(sorted(powers | {length}))


def letters(vocabulary: int) -> dict[int, str]:
    """Name tokens by letters, or by numbers where there are too many of them.

    >>> letters(4)
    {0: '0', 1: 'a', 2: 'b', 3: 'c'}
    """
    last = ord("z") - ord("a") + 1
    spelt = {token: chr(ord("a") + token - 1) for token in range(1, vocabulary)}
    return {0: "0"} | (spelt if vocabulary <= last else {token: str(token) for token in spelt})


def write_rows(sequences: Sequence[DiskTokens], names: Callable[[int], str] = str) -> str:
    """Write what is read above what is asked, some tokens to a line.

    >>> print(write_rows([np.array([3, 14, 3], np.uint8), np.array([0, 0, 14], np.uint8)]))
    read   3 14  3
    asked  .  . 14
    """
    read, asked = (sequence.tolist() for sequence in sequences)
    reads = [names(token) for token in read]
    answers = ["." if token == NOTHING else names(token) for token in asked]
    width = max(map(len, reads + answers))
    lines = []
    for start in range(0, len(reads), ROW):
        for title, words in (("read ", reads), ("asked", answers)):
            row = " ".join(word.rjust(width) for word in words[start : start + ROW])
            lines.append(f"{title} {row}")
    return "\n".join(lines)

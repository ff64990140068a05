"""Windows of a long stream, such as a text of a hundred million bytes.

Training draws them: the batch of step t is a pure function of (stream, seed, t), gathered from the
memory map at once. Every stretch of `length` tokens is as likely as any other.

Evaluation cuts the stream into segments of `length - overlap` tokens. Each of them is predicted at
the end of a window, so every token counts once, and has at least `overlap` tokens before it, or
all there are:

    stream      |----|----|----|--|
    window 1    [####]                    # counts
    window 2    [++++####]                + is only read
    window 3         [++++####]
    window 4             [+++++##]

The label of a window says how many of its first tokens are only read.
"""

from dataclasses import dataclass

import numpy as np
import torch

from longarena.data.batches import Batch
from longarena.data.dataset import Bytes, Integers, Split
from longarena.errors import UserError
from longarena.seeding import numpy_rng


class TrainingWindows:
    """An endless row of batches of windows, indexed by step."""

    def __init__(self, stream: Bytes, length: int, batch_size: int, seed: int) -> None:
        if len(stream) < length:
            raise UserError(
                f"the {len(stream):,} bytes to train on are fewer than a window of {length:,}; "
                f"take a longer text, or --set task.length={max(2, len(stream) // 2)}"
            )
        self.stream, self.length, self.batch_size, self.seed = stream, length, batch_size, seed

    def __getitem__(self, step: int) -> Batch:
        last = len(self.stream) - self.length
        rng = numpy_rng(self.seed, "windows", step)
        starts = rng.integers(0, last, self.batch_size, endpoint=True)
        tokens = self.stream[starts[:, None] + np.arange(self.length)]
        ids = torch.from_numpy(tokens.astype(np.int64) + 1)
        return Batch(ids[:, None], torch.zeros(self.batch_size, dtype=torch.int64))

    def padding_share(self) -> float:
        """Return the share of positions that are padding: none is."""
        return 0.0


@dataclass(frozen=True)
class Windows(Split):
    """The segments of a stream, each at the end of a window of up to `length` tokens.

    `offsets` are the bounds of the segments.
    """

    length: int
    overlap: int

    @classmethod
    def of(cls, stream: Bytes, length: int, overlap: int) -> "Windows":
        """Cut a stream into segments; the last one may be shorter."""
        bounds = np.append(np.arange(0, len(stream), length - overlap), len(stream))
        read = np.minimum(bounds[1:], length) - np.diff(bounds)
        return cls(stream, bounds, read, 1, length, overlap)

    @property
    def _sequence_lengths(self) -> Integers:
        lengths: Integers = np.minimum(self.offsets[1:], self.length)[:, None]
        return lengths

    def sequence(self, example: int, which: int = 0) -> Bytes:
        """Return the tokens of one window."""
        end = self.offsets[example + 1]
        return self.tokens[max(0, end - self.length) : end]

"""A stream: one long text, whose every byte is to be predicted from those before it.

    train | valid | test      90, 5 and 5 percent of the bytes, in their order

A split is a single sequence on disk. `length` and `overlap` say in which windows it is read, and a
`size` below 1 reads the beginning of every split. None of them changes the data, so it is prepared
once for all; but each makes a variant of the task, because scores depend on it.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from pydantic import Field, model_validator

from longarena.data.dataset import Bytes, Chunk, Split
from longarena.options import Options
from longarena.tasks.base import Task
from longarena.tasks.raw_input import TextInput
from longarena.tasks.signature import Signature

SHOWN = 1000  # bytes of an example that a person reads


class StreamOptions(Options):
    """In which windows a stream is read.

    A window has `length` bytes. In evaluation its first `overlap` bytes are only read, because they
    counted before; None means half of the window.
    """

    length: int = Field(1024, ge=2)
    overlap: int | None = Field(None, ge=0)

    @model_validator(mode="after")
    def _some_bytes_count(self) -> "StreamOptions":
        if self.num_overlapping >= self.length:
            raise ValueError(
                f"an overlap of {self.overlap} leaves nothing of a window of {self.length} bytes "
                f"to be predicted; choose at most {self.length - 1}"
            )
        return self

    @property
    def num_overlapping(self) -> int:
        """The number of bytes of a window that are only read."""
        return self.length // 2 if self.overlap is None else self.overlap


class Stream(Task):
    """Prediction of the next byte."""

    options_type = StreamOptions
    options: StreamOptions
    raw_input = TextInput()

    @property
    def signature(self) -> Signature:
        return Signature(
            vocab_size=257,
            max_length=self.options.length,
            track="language",
            overlap=self.options.num_overlapping,
        )

    @property
    def stored(self) -> "Stream":
        return type(self)(StreamOptions(), data=self.data)

    def view(self, split: Split) -> Split:
        return split if self.size == 1 else split.beginning(self.size)

    def count(self, chunk: Chunk) -> int:
        return len(chunk.tokens)

    def describe(self, sequences: Sequence[Bytes], label: int) -> str:
        stream = sequences[0]
        text = stream[:SHOWN].tobytes().decode(errors="replace")
        return f"the first {min(SHOWN, len(stream)):,} of {len(stream):,} bytes:\n{text}"


def split_sizes(num_bytes: int) -> dict[str, int]:
    """Return how many bytes each split has.

    >>> split_sizes(1000)
    {'train': 900, 'valid': 50, 'test': 50}
    """
    train = num_bytes * 9 // 10
    valid = (num_bytes - train) // 2
    return {"train": train, "valid": valid, "test": num_bytes - train - valid}


def cut(content: bytes) -> Iterator[tuple[str, Chunk]]:
    """Cut a text into its splits, each of them one sequence."""
    tokens, start = np.frombuffer(content, np.uint8), 0
    for split, size in split_sizes(len(content)).items():
        part = tokens[start : start + size]
        yield split, Chunk(part, np.array([size], np.int64), np.zeros(1, np.int64))
        start += size

"""Sequences of unequal length in one memory-mapped file, written once.

A dataset is a folder. Each split has three files:

    train.tokens    every sequence end to end, one byte per token, or two (uint16)
    train.offsets   int64: sequence i is tokens[offsets[i] : offsets[i + 1]]
    train.labels    int64: one per example; an example is one sequence, or two in a row (a pair)

and `dataset.json` says what is in them and holds the fingerprint of every byte. Other files may be
attached, such as a tokeniser; they are part of the fingerprint as well. A dataset is
written under a temporary name, flushed and renamed, so it exists whole or not at all. Opening it
reads it through once and refuses it if it does not match its fingerprint, unless that was just
checked.

Choice: a token on disk is a byte, or two where a vocabulary has more than 256; in a batch its id is
        one more, and 0 is padding. So padding can never be mistaken for data.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Annotated, Any, BinaryIO, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, ValidationError

from longarena.data.files import naming, read_json, write_atomically
from longarena.errors import UserError
from longarena.options import Natural, Options, Value

FORMAT: Literal[1] = 1
ABOUT = "dataset.json"
PARTS = ("tokens", "offsets", "labels")
NUMBERS = np.dtype("<i8")  # of offsets and labels
BYTES = "uint8"  # what tokens are where a dataset does not say it
TOKEN_TYPES: dict[str, np.dtype[Any]] = {BYTES: np.dtype(np.uint8), "uint16": np.dtype("<u2")}
HASH_BLOCK = 1 << 24

Bytes = NDArray[np.uint8]
DiskTokens = NDArray[np.unsignedinteger[Any]]
Integers = NDArray[np.int64]


def token_type(vocab_size: int) -> str:
    """Name the smallest type that holds the tokens of a vocabulary, whose ids include padding.

    >>> token_type(257), token_type(258)
    ('uint8', 'uint16')
    """
    return next(name for name, kind in TOKEN_TYPES.items() if vocab_size - 2 <= np.iinfo(kind).max)


@dataclass(frozen=True)
class Chunk:
    """Some examples on their way into a dataset: tokens end to end, lengths, labels.

    Where they were read, `num_dropped` more examples were left out, and `num_cut` of these are not
    whole.
    """

    tokens: DiskTokens
    lengths: Integers
    labels: Integers
    num_dropped: int = 0
    num_cut: int = 0

    @classmethod
    def of(cls, sequences: Iterable[bytes], label: int) -> "Chunk":
        """Make the chunk of one example, a single sequence or a pair."""
        parts = [np.frombuffer(sequence, np.uint8) for sequence in sequences]
        lengths = np.array([len(part) for part in parts], np.int64)
        return cls(np.concatenate(parts), lengths, np.array([label], np.int64))


@dataclass(frozen=True)
class Split:
    """The examples of one split, read from the memory map as they are needed."""

    tokens: DiskTokens
    offsets: Integers
    labels: Integers
    num_sequences: int

    def __len__(self) -> int:
        return len(self.labels)

    @cached_property
    def lengths(self) -> Integers:
        """The length of each example, which is that of the longer of its sequences."""
        longest: Integers = self._sequence_lengths.max(axis=1)
        return longest

    @cached_property
    def num_tokens(self) -> Integers:
        """The number of tokens of each example, over all its sequences."""
        total: Integers = self._sequence_lengths.sum(axis=1)
        return total

    @property
    def _sequence_lengths(self) -> Integers:
        return np.diff(self.offsets).reshape(len(self), self.num_sequences)

    def beginning(self, share: float) -> "Split":
        """Return the first share of a split that is one long sequence."""
        end = max(1, round(share * len(self.tokens)))
        return replace(self, tokens=self.tokens[:end], offsets=np.array([0, end]))

    def sequence(self, example: int, which: int = 0) -> DiskTokens:
        """Return the tokens of one sequence as they are on disk."""
        i = example * self.num_sequences + which
        return self.tokens[self.offsets[i] : self.offsets[i + 1]]

    def chosen(self, examples: Integers) -> "Split":
        """Hold some examples in memory, in their order."""
        return collect(map(self._chunk, examples.tolist()), self.num_sequences)

    def _chunk(self, example: int) -> Chunk:
        sequences = [self.sequence(example, which) for which in range(self.num_sequences)]
        lengths = np.array([len(tokens) for tokens in sequences], np.int64)
        return Chunk(np.concatenate(sequences), lengths, self.labels[example : example + 1])


def collect(chunks: Iterable[Chunk], num_sequences: int) -> Split:
    """Hold chunks in memory as a split, without a dataset."""
    parts = list(chunks)
    lengths = np.concatenate([np.zeros(1, np.int64), *(chunk.lengths for chunk in parts)])
    return Split(
        np.concatenate([chunk.tokens for chunk in parts]),
        np.cumsum(lengths),
        np.concatenate([chunk.labels for chunk in parts]),
        num_sequences,
    )


def _whole(split: Split) -> Split:
    return split


class About(Options):
    """What `dataset.json` says."""

    format: Literal[1] = FORMAT
    facts: dict[str, Value]
    num_sequences: Literal[1, 2]
    tokens: Literal["uint8", "uint16"] = "uint8"
    sizes: dict[Annotated[str, Field(pattern="^[a-z]+$")], Natural]
    fingerprint: str
    attached: list[Annotated[str, Field(pattern=r"^[A-Za-z0-9][\w.-]*$")]] = Field(
        default_factory=list
    )


def read_about(folder: Path) -> About:
    """Read what a dataset says of itself; its fingerprint is not compared with its content."""
    try:
        return About.model_validate(read_json(folder / ABOUT))
    except FileNotFoundError:
        raise UserError(f"no prepared data in {folder}; prepare it first") from None
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "dataset.json"
        raise _damaged(folder, f"{where}: {first['msg']}") from None
    except (OSError, ValueError) as error:
        raise _damaged(folder, str(error)) from None


class Dataset:
    """An opened dataset: `facts` about it, its `fingerprint`, and its splits.

    `view` says what of a split on disk is read; by default all of it.
    """

    def __init__(
        self, folder: Path, *, verify: bool = True, view: Callable[[Split], Split] = _whole
    ) -> None:
        self.folder, self.view = folder, view
        about = read_about(folder)
        self.facts: dict[str, Value] = about.facts
        self.fingerprint, self.num_sequences = about.fingerprint, about.num_sequences
        self.tokens, self.sizes = about.tokens, about.sizes
        self.attached: list[str] = about.attached
        if verify and not self._is_whole():
            raise _damaged(folder, "its content does not match its fingerprint")

    def _is_whole(self) -> bool:
        files = files_of(self.sizes, self.attached)
        found = _fingerprint(self.folder, files, self.num_sequences, self.tokens)
        return found == self.fingerprint

    def split(self, name: str) -> Split:
        """Map one split into memory."""
        tokens, offsets, labels = (self._map(name, part) for part in PARTS)
        return self.view(Split(tokens, offsets, labels, self.num_sequences))

    def _map(self, split: str, part: str) -> NDArray[Any]:
        path = self.folder / f"{split}.{part}"
        kind = _type_of(part, self.tokens)
        if path.stat().st_size == 0:  # an empty file cannot be mapped
            return np.empty(0, kind)
        return np.asarray(np.memmap(path, kind, mode="r"))


class Writer:
    """Writes a dataset; `with Writer(...)` leaves a whole dataset behind, or nothing.

    `tokens` is one of TOKEN_TYPES.
    """

    def __init__(
        self,
        folder: Path,
        facts: dict[str, object],
        num_sequences: int = 1,
        tokens: str = BYTES,
    ) -> None:
        self.folder, self.facts, self.num_sequences = folder, facts, num_sequences
        self.tokens = tokens
        self._partial = folder.with_name(f"{folder.name}.{os.getpid()}.partial")
        self._files: dict[str, BinaryIO] = {}
        self._sizes: dict[str, int] = {}
        self._ends: dict[str, int] = {}
        self._attached: list[str] = []

    def __enter__(self) -> "Writer":
        # the lock of the caller guarantees that a leftover belongs to a writer that died
        for leftover in self.folder.parent.glob(f"{self.folder.name}.*.partial"):
            shutil.rmtree(leftover)
        self._partial.mkdir(parents=True)
        return self

    def add(self, split: str, chunk: Chunk) -> None:
        """Append examples to a split."""
        if len(chunk.lengths) != len(chunk.labels) * self.num_sequences:
            raise ValueError(f"{len(chunk.lengths)} sequences for {len(chunk.labels)} labels")
        if not np.can_cast(chunk.tokens.dtype, TOKEN_TYPES[self.tokens]):
            raise ValueError(
                f"tokens of {chunk.tokens.dtype} do not fit a dataset of {self.tokens}"
            )
        if split not in self._sizes:
            self._sizes[split] = self._ends[split] = 0
            self._write(split, "offsets", np.zeros(1, np.int64))
            self._write(split, "labels", np.zeros(0, np.int64))
        ends = self._ends[split] + np.cumsum(chunk.lengths)
        self._write(split, "tokens", chunk.tokens)
        self._write(split, "offsets", ends)
        self._write(split, "labels", chunk.labels)
        self._sizes[split] += len(chunk.labels)
        self._ends[split] = int(ends[-1]) if len(ends) else self._ends[split]

    def attach(self, name: str, content: bytes) -> None:
        """Keep a file beside the splits; it is part of the dataset and of its fingerprint."""
        self._attached.append(name)
        self._files[name] = (self._partial / name).open("wb")
        self._files[name].write(content)

    def _write(self, split: str, part: str, array: NDArray[np.generic]) -> None:
        name = f"{split}.{part}"
        if name not in self._files:
            self._files[name] = (self._partial / name).open("wb")
        kind = _type_of(part, self.tokens)
        with naming(self._partial / name):
            self._files[name].write(np.ascontiguousarray(array, kind).data)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if kind is None:
                self._finish()
            else:
                self._close(flush=False)
        finally:
            shutil.rmtree(self._partial, ignore_errors=True)

    def _close(self, flush: bool) -> None:
        for file in self._files.values():
            if flush:
                file.flush()
                os.fsync(file.fileno())
            file.close()

    def _finish(self) -> None:
        self._close(flush=True)
        about = {
            "format": FORMAT,
            "facts": self.facts,
            "num_sequences": self.num_sequences,
            "tokens": self.tokens,
            "sizes": self._sizes,
            "attached": self._attached,
            "fingerprint": _fingerprint(
                self._partial,
                files_of(self._sizes, self._attached),
                self.num_sequences,
                self.tokens,
            ),
        }
        write_atomically(self._partial / ABOUT, json.dumps(about, indent=2) + "\n")
        if self.folder.exists():
            shutil.rmtree(self.folder)
        self._partial.rename(self.folder)


def _type_of(part: str, tokens: str) -> np.dtype[Any]:
    """Return what a file of a dataset is made of."""
    return TOKEN_TYPES[tokens] if part == "tokens" else NUMBERS


def files_of(splits: Iterable[str], attached: Iterable[str]) -> list[str]:
    """List what a dataset consists of, in the order of its fingerprint."""
    parts = [f"{split}.{part}" for split in sorted(splits) for part in PARTS]
    return [*parts, *sorted(attached)]


def _fingerprint(folder: Path, files: list[str], num_sequences: int, tokens: str) -> str:
    """Digest every byte of a dataset: two datasets with one fingerprint hold the same data."""
    # datasets of bytes are older than the field that says so
    kind = "" if tokens == BYTES else f" {tokens}"
    digest = hashlib.sha256(f"{FORMAT} {num_sequences}{kind}".encode())
    for name in files:
        path = folder / name
        if not path.is_file():
            raise _damaged(folder, f"{name} is missing")
        digest.update(f"{name} {path.stat().st_size}\n".encode())
        with path.open("rb") as file:
            while block := file.read(HASH_BLOCK):
                digest.update(block)
    return digest.hexdigest()[:16]


def _damaged(folder: Path, why: str) -> UserError:
    return UserError(
        f"the data in {folder} is damaged ({why}); delete the folder and prepare it again"
    )

"""A task: a signature for models, a card for people, and examples that go into a dataset.

Examples are generated, or read from a source: an archive or a folder. Data is prepared once per
variant. The folder's name gives the version, the data if it is not the task's own, every option
that differs from its default, and the size, so that variants never mix:

    <home>/listops/v1                                      the task itself
    <home>/listops/v1,max_depth=6,max_length=256,size=0.1  a variant of it
    <home>/retrieval/v1,aan-mini                           other data: aan-mini.tar.xz

A variant whose tokens are shuffled (`longarena/data/shuffle.py`) reads the data of the one whose
tokens are not.
"""

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from pathlib import Path
from typing import ClassVar

import platformdirs

from longarena.data.archive import Source
from longarena.data.dataset import Chunk, Dataset, DiskTokens, Split
from longarena.data.download import Download
from longarena.data.shuffle import Shuffle, ShuffledSplit
from longarena.errors import UserError
from longarena.options import Options, parse
from longarena.tasks.raw_input import RawInput, TokenInput
from longarena.tasks.signature import Signature
from longarena.tasks.splits import scaled

SPLITS = ("train", "valid", "test")


class TaskCard(Options):
    """What a reader must know before trusting a number."""

    name: str
    version: int
    title: str
    sizes: Mapping[str, int]
    question: str = ""
    splits: str = ""
    source: str = ""
    licence: str = ""
    citation: str = ""
    image_shape: tuple[int, int] | None = None
    note: str = ""  # what is known to be wrong with the data


class Task(ABC):
    """One task under some options; subclasses say what the examples are.

    `data` names data that is not the task's own; it is part of the variant.
    """

    options_type: ClassVar[type[Options]] = Options
    download: ClassVar[Download | None] = None  # where the official release is
    is_generated: ClassVar[bool] = False
    dataset_type: ClassVar[type[Dataset]] = Dataset
    # options under which a generated example is short enough to be shown
    sample_options: ClassVar[Mapping[str, object]] = {}
    # how the tokens of every example are shuffled; not at all if it is empty
    shuffle: str = ""

    def __init__(self, options: Options, size: float = 1.0, data: str = "") -> None:
        if not 0 < size <= 1:
            raise UserError(f"size {size} is not a share of the data; choose 0 < size <= 1")
        if not re.fullmatch(r"[A-Za-z0-9._-]*", data):
            raise UserError(f"{data!r} cannot name data; use letters, digits, '.', '_' and '-'")
        self.options, self.size, self.data = options, size, data

    @property
    @abstractmethod
    def signature(self) -> Signature:
        """What a model must know about the task under its options."""

    @property
    @abstractmethod
    def card(self) -> TaskCard:
        """The card of the task under its options, at full size."""

    @property
    def raw_input(self) -> RawInput:
        """What an example is before it is tokens; by default it never was anything else."""
        return TokenInput()

    @property
    def class_names(self) -> tuple[str, ...]:
        """What the classes are called, in the order of their numbers; empty if by these alone."""
        return ()

    def generate(self, sizes: Mapping[str, int]) -> Iterator[tuple[str, Chunk]]:
        """Yield chunks of examples with their split, `sizes[split]` in all, always the same."""
        raise UserError(f"{self.card.name} cannot be generated; give its data by --source")

    def read(self, source: Source) -> Iterator[tuple[str, Chunk | bytes]]:
        """Yield every example of a source with its split; the order depends on its content only.

        Bytes instead of examples are a file with that name, kept beside them.
        """
        raise UserError(f"{self.card.name} is generated; leave out --source")

    def describe(self, sequences: Sequence[DiskTokens], label: int) -> str:
        """Write one example for a person to read."""
        rows = [" ".join(map(str, tokens.tolist())) for tokens in sequences]
        return "\n".join([f"{label}:", *rows])

    def show(self, split: Split, example: int) -> str:
        """Write one example of prepared data for a person to read."""
        sequences = [split.sequence(example, which) for which in range(split.num_sequences)]
        return self.describe(sequences, int(split.labels[example]))

    @property
    def tested_lengths(self) -> tuple[int, ...]:
        """The lengths at which a run is tested beside its test split, if it can be: often none."""
        return ()

    def at_length(self, length: int) -> "Task":
        """Return the same task on sequences of another length."""
        raise UserError(f"{self.card.name} cannot be asked at a chosen length")

    def changed(self, **options: object) -> "Task":
        """Return the same task under other options."""
        kind = type(self)
        values = self.options.model_dump() | options
        other = kind(parse(kind.options_type, values, self.card.name), self.size, self.data)
        return other.shuffled(self.shuffle)

    @property
    def sizes(self) -> dict[str, int]:
        """The number of examples of each split at this size, if the data has the card's counts."""
        return {name: scaled(n, self.size) for name, n in self.card.sizes.items()}

    @property
    def variant(self) -> str:
        """How the data differs from the task's own; empty if it does not.

        The defaults are left out, so the name stays short and stays the same when an option
        is added later.
        """
        parts = [self.data] if self.data else []
        return ",".join([*parts, *(f"{key}={value}" for key, value in self.differences)])

    @property
    def differences(self) -> list[tuple[str, object]]:
        """The options, the size and the shuffle that are not the defaults, by their names."""
        changed = self.options.model_dump(exclude_defaults=True)
        changed |= {"size": self.size} if self.size != 1 else {}
        changed |= {"shuffle": self.shuffle} if self.shuffle else {}
        return sorted(changed.items())

    @property
    def stored(self) -> "Task":
        """The task whose data is on disk; it differs where options only say how data is read."""
        return self.shuffled("") if self.shuffle else self

    def shuffled(self, shuffle: str) -> "Task":
        """Return the same task with its tokens in another order; in their own if it is empty."""
        other = copy(self)
        other.shuffle = shuffle
        return other

    def view(self, split: Split) -> Split:
        """Return what is read of a split on disk; by default all of it, perhaps shuffled."""
        return ShuffledSplit.of(split, Shuffle.of(self.shuffle)) if self.shuffle else split

    def count(self, chunk: Chunk) -> int:
        """Count what the card's sizes count: what was read, be it examples or bytes of a stream."""
        return len(chunk.labels) + chunk.num_dropped

    def kept(self, home: Path) -> Path | None:
        """Return where the task's source was kept when it was first named, if it was."""
        return None

    def folder(self, home: Path) -> Path:
        """Return where this variant is kept under `home`."""
        parts = [f"v{self.card.version}", *([self.variant] if self.variant else [])]
        return home / self.card.name / ",".join(parts)

    def named(self, data: str) -> "Task":
        """Return the same task on other data."""
        return type(self)(self.options, self.size, data).shuffled(self.shuffle)


def default_home() -> Path:
    """Return where prepared data lives: LONGARENA_HOME, or the user's cache folder."""
    chosen = os.environ.get("LONGARENA_HOME")
    return Path(chosen).expanduser() if chosen else Path(platformdirs.user_cache_dir("longarena"))

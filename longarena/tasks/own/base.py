"""What tasks on data of the user's have in common: examples, a class for each, and a card.

Everything that a model must know (classes, longest sequence, vocabulary) is found in the data when
it is read, and kept with the prepared data. A recipe names the data by its name and a digest of
what it holds, so it is the same recipe wherever the data lies.

`max_length` and `size` only say how much of the prepared data is read; all other options make
another dataset.
"""

import hashlib
import json
import re
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePath
from shlex import quote
from typing import ClassVar

import numpy as np
from pydantic import Field, ValidationError

from longarena.data.archive import Source
from longarena.data.dataset import Chunk, DiskTokens, Split
from longarena.data.part import Part
from longarena.errors import UserError
from longarena.options import Options
from longarena.tasks.base import Task, TaskCard, default_home
from longarena.tasks.curve import draw_values
from longarena.tasks.own.card import DataCard
from longarena.tasks.own.encoding import Encoding
from longarena.tasks.own.item import Item
from longarena.tasks.own.names import visible_files
from longarena.tasks.own.survey import Survey
from longarena.tasks.signature import Signature
from longarena.tasks.splits import kept

VERSION = 1
DIGEST_LENGTH = 12
PLAIN = re.compile(r"[A-Za-z0-9._-]{1,40}")
SHOWN = 1000  # tokens of an example that a person reads
FOUND = "found"  # where the card is among the facts of a dataset


class OwnOptions(Options):
    """How much of an example is read."""

    max_length: int = Field(4096, ge=1)


class OwnData(Task):
    """Classification of a user's own examples; `name` is that of the data."""

    options_type: ClassVar[type[OwnOptions]] = OwnOptions
    options: OwnOptions
    name: ClassVar[str] = ""
    has_values: ClassVar[bool] = False

    @abstractmethod
    def items(self, path: Path) -> Iterator[Item]:
        """Read every example, always in the same order."""

    @abstractmethod
    def encoding(self, found: Survey, path: Path) -> Encoding:
        """Choose how sequences become tokens."""

    @property
    def unit(self) -> str:
        """What the sequences are made of."""
        return "values" if self.has_values else "bytes"

    @property
    def num_sequences(self) -> int:
        """The number of sequences of an example."""
        return 1

    def rule(self, path: Path) -> str:
        """Say by what the data names its splits, if it does."""
        return "as its folders are named"

    def files(self, path: Path) -> list[Path]:
        """List the files that decide what the data is."""
        return sorted(visible_files(path)) if path.is_dir() else [path]

    def image_shape(self, path: Path) -> tuple[int, int] | None:
        """Return height and width if every example is a grey picture of bytes."""
        return None

    def digest(self, path: Path) -> str:
        """Return a digest of what the data holds; where it lies does not matter."""
        total = hashlib.sha256()
        for each in self.files(path):
            name = each.relative_to(path).as_posix() if path.is_dir() else ""
            with each.open("rb") as file:
                content = hashlib.file_digest(file, "sha256").hexdigest()
            total.update(f"{name}\n{content}\n".encode())
        return total.hexdigest()[:DIGEST_LENGTH]

    @property
    def found(self) -> DataCard:
        """The card of the prepared data; refused where it is not prepared."""
        card = self.look()
        if card is None:
            raise UserError(self.missing)
        return card

    def look(self) -> DataCard | None:
        """Return the card of the prepared data, if it is there."""
        path = self.stored.folder(default_home()) / "dataset.json"
        try:
            return DataCard.model_validate(json.loads(path.read_text())["facts"][FOUND])
        except (OSError, ValueError, LookupError, TypeError, ValidationError):
            return None

    @property
    def command(self) -> str:
        """The command that prepares this data."""
        changed = self.stored.options.model_dump(exclude_defaults=True)
        sets = [f"--set {quote(f'{key}={value}')}" for key, value in sorted(changed.items())]
        return " ".join(["longarena data prepare PATH", *sets, f"(PATH of {self.short_name})"])

    @property
    def missing(self) -> str:
        """Say that the data is not there, and what to do."""
        if not self.data:
            return f"{self.name} is neither a task nor data here; name your data by its path"
        return f"{self.name} ({self.data}) is not prepared with these options; run: {self.command}"

    def folder(self, home: Path) -> Path:
        # not by the card, which reads what is kept there
        parts = [f"v{VERSION}", *([self.variant] if self.variant else [])]
        return home / self.short_name / ",".join(parts)

    @property
    def signature(self) -> Signature:
        found = self.found
        return Signature(
            vocab_size=found.vocab_size,
            max_length=min(found.longest, self.options.max_length),
            num_sequences=2 if found.num_sequences == 2 else 1,
            num_classes=len(found.classes),
            has_values=found.has_values,
        )

    @property
    def class_names(self) -> tuple[str, ...]:
        return self.found.classes

    @property
    def short_name(self) -> str:
        """The name without its folder."""
        return PurePath(self.name).name

    @property
    def card(self) -> TaskCard:
        found = self.look()
        shape = found.image_shape if found else None
        is_whole = shape is not None and shape[0] * shape[1] <= self.options.max_length
        return TaskCard(
            name=self.short_name,
            version=VERSION,
            title=PurePath(self.name).stem,
            question="Which class is this?",
            sizes={split: sum(n) for split, n in found.counts.items()} if found else {},
            splits=found.splits if found else "",
            source=self.short_name,
            image_shape=shape if is_whole else None,
        )

    def read(self, source: Source) -> Iterator[tuple[str, Chunk]]:
        raise UserError(f"name {self.short_name} by its path, without --source")

    def describe(self, sequences: Sequence[DiskTokens], label: int) -> str:
        found = self.found
        parts = [
            draw_values(each, found.vocab_size) if found.has_values else self.write(each)
            for each in sequences
        ]
        return "\n".join([f"{found.classes[label]}:", *parts])

    def write(self, tokens: DiskTokens) -> str:
        """Write the beginning of a text."""
        text = self.decode(tokens[:SHOWN])
        return text if len(tokens) <= SHOWN else f"{text} ... ({len(tokens):,} {self.unit})"

    def decode(self, tokens: DiskTokens) -> str:
        """Return the text of some tokens."""
        return tokens.tobytes().decode(errors="replace")

    @property
    def stored(self) -> "OwnData":
        kind = type(self)
        default = kind.options_type.model_fields["max_length"].default
        return kind(self.options.model_copy(update={"max_length": default}), data=self.data)

    def view(self, split: Split) -> Split:
        most, longest = self.options.max_length, int(split.lengths.max(initial=0))
        if self.size != 1 or longest > most:
            split = Part.of(split, np.flatnonzero(kept(0, len(split), self.size)), most)
        return super().view(split)

    @property
    def variant(self) -> str:
        """How the data is read; names of columns are written so that a folder can have them."""
        parts = [self.data] if self.data else []
        return ",".join([*parts, *(f"{key}={_plain(value)}" for key, value in self.differences)])


def _plain(value: object) -> str:
    """Write a value so that it can stand in the name of a folder; others get a digest.

    >>> _plain("stars"), _plain("how many/stars")
    ('stars', 'how-many-stars-8f32b4')
    """
    text = str(value)
    if PLAIN.fullmatch(text):
        return text
    digest = hashlib.sha256(text.encode()).hexdigest()[:6]
    return f"{re.sub(r'[^A-Za-z0-9._]+', '-', text)[:30].strip('-.')}-{digest}"

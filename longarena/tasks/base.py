"""A task: a card that says what is asked, and a stream of examples that goes into a store.

Data is prepared once per variant. The folder's name tells the version, every option that is not
the default and the size, so that variants can never mix:

    <home>/listops/v1                                      the official task
    <home>/listops/v1,max_depth=6,max_length=256,size=0.1  a variant of it
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import ClassVar, Literal

import platformdirs

from longarena.data.files import locked
from longarena.data.ragged import Bytes, Chunk, Store, Writer
from longarena.errors import UserError
from longarena.options import Options
from longarena.progress import SILENT, Progress

SPLITS = ("train", "valid", "test")


class TaskCard(Options):
    """What a reader must know before trusting a number."""

    name: str
    version: int
    title: str
    question: str
    num_classes: int
    max_length: int
    vocab_size: int
    sizes: Mapping[str, int]
    splits: str
    source: str
    licence: str
    citation: str
    image_shape: tuple[int, int] | None = None
    num_sequences: Literal[1, 2] = 1


class Task(ABC):
    """One task under some options; subclasses say what the examples are."""

    options_type: ClassVar[type[Options]] = Options

    def __init__(self, options: Options, size: float = 1.0) -> None:
        if not 0 < size <= 1:
            raise UserError(f"size {size} is not a share of the data; choose 0 < size <= 1")
        self.options, self.size = options, size

    @property
    @abstractmethod
    def card(self) -> TaskCard:
        """The card of the task under its options, at full size."""

    @abstractmethod
    def examples(
        self, sizes: Mapping[str, int], source: Path | None
    ) -> Iterator[tuple[str, Chunk]]:
        """Yield chunks of examples with their split, `sizes[split]` in all, always the same."""

    @abstractmethod
    def describe(self, tokens: Bytes, label: int) -> str:
        """Write one example for a person to read."""

    @property
    def sizes(self) -> dict[str, int]:
        """The number of examples of each split at this size."""
        return {name: max(1, round(n * self.size)) for name, n in self.card.sizes.items()}

    @property
    def variant(self) -> str:
        """How this differs from the official task; empty if it does not.

        The defaults are left out, so the name stays short and stays the same when an option
        is added later.
        """
        changed = self.options.model_dump(exclude_defaults=True)
        changed |= {"size": self.size} if self.size != 1 else {}
        return ",".join(f"{key}={changed[key]}" for key in sorted(changed))

    def folder(self, home: Path) -> Path:
        """Return where this variant is kept under `home`."""
        parts = [f"v{self.card.version}", *([self.variant] if self.variant else [])]
        return home / self.card.name / ",".join(parts)


def default_home() -> Path:
    """Return where prepared data lives: LONGARENA_HOME, or the user's cache folder."""
    chosen = os.environ.get("LONGARENA_HOME")
    return Path(chosen).expanduser() if chosen else Path(platformdirs.user_cache_dir("longarena"))


def prepare(
    task: Task, home: Path, source: Path | None = None, progress: Progress = SILENT
) -> Store:
    """Write the store of a task unless it is there, and open it."""
    folder = task.folder(home)
    busy = f"{folder} is being prepared by another process; wait for it to end"
    with locked(folder.with_name(f".{folder.name}.lock"), busy):
        if not (folder / "store.json").exists():
            _write(task, folder, source, progress)
    return open_prepared(task, home)


def open_prepared(task: Task, home: Path) -> Store:
    """Open the store of a task; say how to prepare it if it is not there."""
    folder = task.folder(home)
    if not folder.exists():
        raise UserError(f"{task.card.name} is not prepared ({folder}); run: {command(task)}")
    store = Store(folder)
    expected = _facts(task)
    if store.facts != expected:
        raise UserError(
            f"{folder} holds other data than its name says; delete it and prepare again"
        )
    return store


def command(task: Task) -> str:
    """Write the command that prepares this variant."""
    changed = task.options.model_dump(exclude_defaults=True)
    words = [f"--set {key}={value}" for key, value in sorted(changed.items())]
    words += [f"--size {task.size}"] if task.size != 1 else []
    return " ".join(["longarena data prepare", task.card.name, *words])


def _facts(task: Task) -> dict[str, object]:
    """Say what a store holds, in plain JSON."""
    return {
        "card": task.card.model_dump(mode="json"),
        "options": task.options.model_dump(mode="json"),
        "size": task.size,
    }


def _write(task: Task, folder: Path, source: Path | None, progress: Progress) -> None:
    sizes = task.sizes
    label = f"preparing {task.card.name}"
    with (
        Writer(folder, _facts(task), task.card.num_sequences) as writer,
        progress.bar(label, total=sum(sizes.values())) as bar,
    ):
        for split, chunk in task.examples(sizes, source):
            writer.add(split, chunk)
            bar.advance(len(chunk.labels), note=split)

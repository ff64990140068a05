"""Parallel text of your own: the path of two files, wherever a task is named.

    longarena train texts/manual.de-en transformer        from manual.de into manual.en

The path ends in the two languages, the one that is read first; the files end in one of them each.
As with a text (`textfile.py`), the task is called by the name without its folder, and `data` is a
digest of what the files contain. They are copied when their path is first named; every variant of
the task is prepared from the copy.

Splits: a twentieth of the different source sentences is for validation and as many for the test,
        at most 2,000 each, drawn by a fixed seed; a sentence that occurs several times stays in
        one split. Pairs with an empty side are never drawn.
Choice: `train.de-en` with valid (or val, dev) and test beside it takes these as they are.
"""

import hashlib
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path, PurePath
from typing import ClassVar

from longarena.data.archive import Source
from longarena.data.files import write_atomically
from longarena.errors import UserError
from longarena.seeding import numpy_rng
from longarena.tasks.base import TaskCard
from longarena.tasks.sentences import NAMES, Pair, Sentences, pairs_of, read_splits
from longarena.tasks.textfile import DIGEST_LENGTH
from longarena.tasks.translation import Translation, TranslationOptions

LANGUAGE = r"[a-z]{2,3}(?:_[A-Za-z]{2,4})?"
NAME = re.compile(rf"(?:[^:]*/)?[^:/]+\.{LANGUAGE}-{LANGUAGE}")
HELD_OUT, MOST_HELD_OUT = 20, 2000
FEWEST = 2 * HELD_OUT


class TwoFiles(Translation):
    """Translation between two files; `pair_task` makes the class of two."""

    name: ClassVar[str] = ""

    @property
    def direction(self) -> str:
        return PurePath(self.name).suffix[1:]

    @property
    def files(self) -> tuple[str, str]:
        """The names of the two files."""
        first, second = (f"{PurePath(self.name).stem}.{each}" for each in self.languages)
        return first, second

    @property
    def card(self) -> TaskCard:
        name = PurePath(self.name).name
        return TaskCard(
            name=name,
            version=1,
            title=f"{PurePath(self.name).stem} ({' to '.join(self.languages)})",
            question="What does this sentence say in the other language?",
            sizes={},
            splits="given, or a twentieth of the source sentences each for validation and test; "
            + self.left_out,
            source=" and ".join(self.files),
        )

    def kept(self, home: Path) -> Path | None:
        place = self.place(home)
        return place if place.exists() else None

    def place(self, home: Path) -> Path:
        """Return where a copy of the files goes."""
        return home / self.card.name / f"text-{self.data}"

    def pairs(self, source: Source) -> dict[str, list[Pair]]:
        # a file that begins with a dot was being copied when its process ended
        paths = [path for path in source.path.glob("*") if not path.name.startswith(".")]
        if digest_of(paths) != self.data:
            raise UserError(
                f"{source.path} is not the text {self.data}; name the task by the path of its files"
            )
        if len(paths) > len(self.files):
            return read_splits(source, self.languages)
        files = (Sentences(name, (source.path / name).read_bytes()) for name in self.files)
        return drawn(pairs_of(*files), self.name)


def drawn(pairs: Sequence[Pair], name: str) -> dict[str, list[Pair]]:
    """Divide pairs into splits, so that no source sentence is in two of them."""
    sentences = list(dict.fromkeys(source for source, target in pairs if source and target))
    if len(sentences) < FEWEST:
        raise UserError(
            f"{name} has {len(sentences)} different sentences with a translation; "
            f"{FEWEST} or more are needed"
        )
    number = min(MOST_HELD_OUT, len(sentences) // HELD_OUT)
    order = numpy_rng(1, "two files").permutation(len(sentences)).tolist()
    split_of = {sentences[i]: "test" for i in order[:number]}
    split_of |= {sentences[i]: "valid" for i in order[number : 2 * number]}
    splits: dict[str, list[Pair]] = {"train": [], "valid": [], "test": []}
    for source, target in pairs:
        split = split_of.get(source, "train") if target else "train"
        splits[split].append((source, target))
    return splits


@cache
def pair_task(name: str) -> type[TwoFiles]:
    """Return the task of the two files with this name."""
    return type("TwoFiles", (TwoFiles,), {"name": name, "__module__": __name__})


def is_pair_name(name: str) -> bool:
    """Tell whether the name of a task means two files, without looking for them.

    >>> [is_pair_name(name) for name in ("a/b.de-en", "b.de", "multi30k", "mine:a.de-en")]
    [True, False, False, False]
    """
    return NAME.fullmatch(name) is not None


def keep_pair(path: Path, home: Path) -> tuple[str, str]:
    """Copy two files, and return the name and the data by which a recipe names them."""
    task = pair_task(path.name)(TranslationOptions())
    files = _find(path, task)
    if not files:
        return path.name, ""  # they may have been kept before, and are named with their digest
    files += _splits_beside(path, task)
    named = pair_task(path.name)(TranslationOptions(), data=digest_of(files))
    place = named.place(home)
    for file in files:
        if not (place / file.name).exists():
            write_atomically(place / file.name, file.read_bytes())
    return path.name, named.data


def digest_of(files: Sequence[Path]) -> str:
    """Return the digest of some files and their names, in whatever order."""
    digest = hashlib.sha256()
    for file in sorted(files, key=lambda file: file.name):
        content = file.read_bytes()
        digest.update(f"{file.name} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()[:DIGEST_LENGTH]


def _find(path: Path, task: TwoFiles) -> list[Path]:
    """Return the two files that a path means; none if a bare name has none here."""
    meant = f"{path} means the files {' and '.join(task.files)}"
    if path.is_file():
        raise UserError(f"{meant}, because it ends in two languages; rename the text")
    if len(set(task.files)) == 1:
        raise UserError(f"{path} names one language twice; name two")
    found = [file for name in task.files if (file := path.parent / name).is_file()]
    if len(found) == 1:
        [missing] = {*task.files} - {found[0].name}
        raise UserError(f"{meant}; {missing} is missing")
    if not found and path.parent != Path():
        raise UserError(f"{meant}; neither exists")
    return found


def _splits_beside(path: Path, task: TwoFiles) -> list[Path]:
    """List the files of validation and test beside those of training; none if a split lacks."""
    if path.stem != "train":
        return []
    others = [
        file
        for stem in NAMES
        for language in task.languages
        if stem != "train" and (file := path.parent / f"{stem}.{language}").is_file()
    ]
    splits = {NAMES[file.stem] for file in others}
    return others if splits == {"valid", "test"} else []

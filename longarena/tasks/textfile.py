"""A text of your own: the path of a file, wherever a task is named.

    longarena train books/emma.txt linear

The task is called by the name of the file, without its folder, and `data` is a digest of what the
file contains. So a recipe names the text itself, not a place on somebody's machine: the same file
gives the same run everywhere, and a file that was changed gives another one. The text is prepared
when its path is first named; from then on it is found by its name and digest, even if the file has
gone (`prepare.py`).

A name is taken for that of a file if it has a dot or a slash in it and no colon. A file without a
dot in its name is written with `./` before it, as in a shell.
"""

import hashlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path, PurePath
from typing import ClassVar

from longarena.data.archive import Source
from longarena.data.dataset import Chunk
from longarena.errors import UserError
from longarena.tasks.base import TaskCard
from longarena.tasks.stream import Stream, cut

DIGEST_LENGTH = 12
FEWEST_BYTES = 1000


class TextFile(Stream):
    """Prediction of the next byte of a file; `of` makes the class of one."""

    name: ClassVar[str] = ""

    @property
    def card(self) -> TaskCard:
        return TaskCard(
            name=PurePath(self.name).name,
            version=1,
            title=PurePath(self.name).stem,
            question="Which byte comes next?",
            sizes={},
            splits="90, 5 and 5 percent of the bytes in the order of the file",
            source=PurePath(self.name).name,
        )

    def read(self, source: Source) -> Iterator[tuple[str, Chunk]]:
        content = source.path.read_bytes()
        if hashlib.sha256(content).hexdigest()[:DIGEST_LENGTH] != self.data:
            raise UserError(f"{source.path} is not the text {self.data}; name the task by its path")
        return cut(content)


@cache
def text_task(name: str) -> type[TextFile]:
    """Return the task of the file with this name."""
    return type("TextFile", (TextFile,), {"name": name, "__module__": __name__})


def is_file_name(name: str) -> bool:
    """Tell whether the name of a task is that of a file, without looking for the file.

    >>> [is_file_name(name) for name in ("emma.txt", "./README", "text", "mine.tasks:Own")]
    [True, True, False, False]
    """
    return ":" not in name and ("." in name or "/" in name)


def name_of(path: str) -> str:
    """Return the name of the task that a path means.

    >>> name_of("books/emma.txt"), name_of("README")
    ('emma.txt', './README')
    """
    name = PurePath(path).name
    return name if "." in name else f"./{name}"


def digest_of(path: Path) -> str:
    """Return the digest of a text; refuse one that is too short to be split."""
    if path.is_dir():
        raise UserError(f"{path} is a folder; name one text file")
    if ":" in path.name:
        raise UserError(f"{path}: a colon in a file's name cannot be told from module:Class")
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    size = path.stat().st_size
    if size < FEWEST_BYTES:
        state = f"has {size:,} bytes" if size else "is empty"
        raise UserError(f"{path} {state}; a text to train on has {FEWEST_BYTES:,} or more")
    return digest[:DIGEST_LENGTH]

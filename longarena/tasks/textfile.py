"""A text of your own: the path of a file, wherever a task is named.

    longarena train books/emma.txt linear

The task is called by the name of the file, without its folder, and `data` is a digest of what the
file contains. So a recipe names the text itself, not a place on somebody's machine: the same file
gives the same run everywhere, and a file that was changed gives another one. The text is prepared
when its path is first named; from then on it is found by its name and digest, even if the file has
gone (`prepare.py`).

Every file is a text that is not of another kind by its ending (`own/`).
"""

import hashlib
from collections.abc import Iterator
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
    """Prediction of the next byte of a file; `name` is that of the file."""

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


def digest_of(path: Path) -> str:
    """Return the digest of a text; refuse one that is too short to be split."""
    if not path.is_file():
        raise UserError(f"{path} is not a file; name one text file")
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    size = path.stat().st_size
    if size < FEWEST_BYTES:
        state = f"has {size:,} bytes" if size else "is empty"
        raise UserError(f"{path} {state}; a text to train on has {FEWEST_BYTES:,} or more")
    return digest[:DIGEST_LENGTH]

"""The folders of one machine, read and written by others that cannot reach its disk.

A server stands before some folders, each with a name; a remote storage is one of them as another
machine sees it. How the calls travel is not said here: whatever has the server's methods will do.
"""

import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from longarena.data.files import flush
from longarena.data.storage import PIECE, FolderStorage, refusing


@dataclass(frozen=True)
class Part:
    """A piece of a file on its way, of one transfer among several."""

    transfer: str
    start: int
    content: bytes
    is_last: bool


@runtime_checkable
class Server(Protocol):
    """What a remote storage calls."""

    def names(self, root: str, folder: str) -> list[str]:
        """List the names of the files in a folder."""

    def read(self, root: str, name: str, start: int) -> bytes:
        """Return the piece of a file that begins somewhere; empty at its end."""

    def write(self, root: str, name: str, part: Part) -> None:
        """Write a piece; with the last one the file appears."""

    def remove(self, root: str, name: str) -> None:
        """Remove a file if it is there."""

    def say(self, line: str) -> None:
        """Tell something to whoever watches."""


class FileServer:
    """Serves folders; calls may come from several threads at once."""

    def __init__(self, roots: Mapping[str, Path]) -> None:
        self._roots = {name: FolderStorage(path) for name, path in roots.items()}
        self._lines: list[str] = []

    def names(self, root: str, folder: str) -> list[str]:
        return self._roots[root].names(folder)

    def read(self, root: str, name: str, start: int) -> bytes:
        storage = self._roots[root]
        with refusing("read", name, storage.title), (storage.root / name).open("rb") as file:
            file.seek(start)
            return file.read(PIECE)

    def write(self, root: str, name: str, part: Part) -> None:
        storage = self._roots[root]
        path = storage.root / name
        partial = path.with_name(f".{path.name}.{part.transfer}.partial")
        with refusing("write", name, storage.title):
            path.parent.mkdir(parents=True, exist_ok=True)
            with partial.open("r+b" if part.start else "wb") as file:
                file.seek(part.start)
                file.write(part.content)
                flush(file)
            if part.is_last:
                partial.replace(path)

    def remove(self, root: str, name: str) -> None:
        self._roots[root].remove(name)

    def say(self, line: str) -> None:
        self._lines.append(line)

    def news(self) -> list[str]:
        """Return what was said since the last call."""
        said, self._lines = self._lines, []
        return said


@dataclass(frozen=True)
class RemoteStorage:
    """One folder of a server, from another machine."""

    server: Server
    root: str
    title: str

    def names(self, folder: str) -> list[str]:
        return self.server.names(self.root, folder)

    def read(self, name: str) -> Iterator[bytes]:
        start, is_over = 0, False
        while not is_over:
            piece = self.server.read(self.root, name, start)
            start, is_over = start + len(piece), len(piece) < PIECE
            yield piece

    def write(self, name: str, pieces: Iterable[bytes]) -> None:
        transfer, start, held = uuid.uuid4().hex[:8], 0, b""
        # one piece is held back, because the last one is marked
        for piece in pieces:
            if held:
                self.server.write(self.root, name, Part(transfer, start, held, is_last=False))
            start, held = start + len(held), piece
        self.server.write(self.root, name, Part(transfer, start, held, is_last=True))

    def remove(self, name: str) -> None:
        self.server.remove(self.root, name)

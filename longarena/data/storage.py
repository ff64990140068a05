"""Storages: where files are kept for several machines, a folder or any address that fsspec knows.

    open_storage("/mnt/lab/sweep")    a folder that all machines see
    open_storage("s3://lab/sweep")    an object store, through fsspec and the package for its kind

Files have relative names and travel in pieces, so none has to fit into memory. In a folder a file
appears whole; elsewhere one may be cut off, and whoever reads it checks it by its digest.

Choice: fsspec and not pyarrow's file systems, because torch brings it along and it knows more kinds
        of addresses.
"""

import json
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from longarena.data.files import appearing
from longarena.errors import UserError

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

PIECE = 1 << 23
# by this file in a storage a machine knows that it sees the same one as another
MARK = "storage.json"
LOCAL = ("file://", "local://")


class StorageError(UserError):
    """A storage cannot be read or written."""


class Missing(StorageError):
    """A storage does not have a file."""


@runtime_checkable
class Storage(Protocol):
    """A place for files."""

    @property
    def title(self) -> str:
        """What people call it."""

    def names(self, folder: str) -> list[str]:
        """List the names of the files in a folder; none if there is no such folder."""

    def read(self, name: str) -> Iterator[bytes]:
        """Yield the pieces of a file; raise Missing if it is not there."""

    def write(self, name: str, pieces: Iterable[bytes]) -> None:
        """Write a file."""

    def remove(self, name: str) -> None:
        """Remove a file if it is there."""


def pieces_of(read: Callable[[int], bytes]) -> Iterator[bytes]:
    """Read a file piece by piece, with the method `read` that all files have."""
    while piece := read(PIECE):
        yield piece


def send(path: Path, storage: Storage, name: str) -> None:
    """Copy a file to a storage."""
    with path.open("rb") as file:
        storage.write(name, pieces_of(file.read))


def fetch(storage: Storage, name: str, path: Path) -> None:
    """Copy a file from a storage; it appears whole."""
    with appearing(path) as file:
        for piece in storage.read(name):
            file.write(piece)


def read_text(storage: Storage, name: str) -> str:
    """Read a small file."""
    return b"".join(storage.read(name)).decode(errors="replace")


@contextmanager
def refusing(verb: str, name: str, title: str) -> Iterator[None]:
    """Turn whatever a storage raises into one line."""
    remedy = "; mend that, or name another storage" if verb == "write" else ""
    try:
        yield
    except UserError:
        raise
    except Exception as error:
        # every kind of storage has errors of its own
        if verb == "read" and isinstance(error, FileNotFoundError):
            raise Missing(f"{title} has no file {name}") from None
        raise StorageError(f"cannot {verb} {name} in {title}: {reason_of(error)}{remedy}") from None


def reason_of(error: Exception) -> str:
    """Say in one line why something failed.

    >>> import errno, os
    >>> reason_of(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))), reason_of(KeyError())
    ('No space left on device', 'KeyError')
    """
    told = getattr(error, "strerror", None) or str(error)
    return " ".join(str(told).split())[:400] or type(error).__name__


@dataclass(frozen=True)
class FolderStorage:
    """A folder, on this machine or shared by all."""

    root: Path

    @property
    def title(self) -> str:
        return str(self.root)

    def names(self, folder: str) -> list[str]:
        path = self.root / folder
        with refusing("list", folder, self.title):
            if not path.is_dir():
                return []
            return sorted(each.name for each in path.iterdir() if each.is_file())

    def read(self, name: str) -> Iterator[bytes]:
        with refusing("read", name, self.title), (self.root / name).open("rb") as file:
            yield from pieces_of(file.read)

    def write(self, name: str, pieces: Iterable[bytes]) -> None:
        with refusing("write", name, self.title), appearing(self.root / name) as file:
            file.writelines(pieces)

    def remove(self, name: str) -> None:
        with refusing("remove", name, self.title):
            (self.root / name).unlink(missing_ok=True)


class AddressStorage:
    """What is behind an address such as s3://lab/sweep."""

    def __init__(self, address: str) -> None:
        self.title = address
        try:
            from fsspec.core import url_to_fs  # noqa: PLC0415 - most never need it

            found: tuple[AbstractFileSystem, str] = url_to_fs(address)
        except (ImportError, ValueError) as error:
            raise StorageError(f"cannot open the storage {address}: {reason_of(error)}") from None
        self._files, self._root = found

    def _path(self, name: str) -> str:
        return f"{self._root.rstrip('/')}/{name}"

    def names(self, folder: str) -> list[str]:
        with refusing("list", folder, self.title):
            # other machines write there, too
            self._files.invalidate_cache()
            try:
                found = self._files.ls(self._path(folder), detail=True)
            except FileNotFoundError:
                return []
            files = [each["name"] for each in found if each["type"] == "file"]
            return sorted(name.rpartition("/")[2] for name in files)

    def read(self, name: str) -> Iterator[bytes]:
        with refusing("read", name, self.title), self._files.open(self._path(name)) as file:
            yield from pieces_of(file.read)

    def write(self, name: str, pieces: Iterable[bytes]) -> None:
        path = self._path(name)
        with refusing("write", name, self.title):
            self._files.makedirs(path.rpartition("/")[0], exist_ok=True)
            with self._files.open(path, "wb") as file:
                for piece in pieces:
                    file.write(piece)

    def remove(self, name: str) -> None:
        with refusing("remove", name, self.title):
            if self._files.exists(self._path(name)):
                self._files.rm_file(self._path(name))


def open_storage(address: str) -> Storage:
    """Open the storage that a folder or an address names."""
    address = in_full(address)
    return AddressStorage(address) if "://" in address else FolderStorage(Path(address))


def in_full(address: str) -> str:
    """Write a folder as other processes find it; an address stays as it is.

    >>> in_full("s3://lab/sweep"), in_full("file:///lab/sweep")
    ('s3://lab/sweep', '/lab/sweep')
    """
    for prefix in LOCAL:
        address = address.removeprefix(prefix)
    return address if "://" in address else str(Path(address).expanduser().absolute())


def claim(storage: Storage) -> str:
    """Make sure that a storage can be written and read; return what marks it."""
    mark = _mark(storage) or uuid.uuid4().hex
    storage.write(MARK, [json.dumps({"longarena": mark}).encode()])
    if _mark(storage) != mark:
        raise StorageError(f"{storage.title} does not give back what is written to it")
    return mark


def confirm(storage: Storage, mark: str) -> None:
    """Make sure that this machine sees the storage that another has claimed."""
    if _mark(storage) != mark:
        raise StorageError(
            f"{storage.title} is not the same storage on every machine; "
            "give a folder or an address that all of them reach"
        )


def _mark(storage: Storage) -> str | None:
    try:
        text = read_text(storage, MARK)
    except Missing:
        return None
    try:
        return str(json.loads(text)["longarena"])
    except (ValueError, LookupError, TypeError):
        return None

"""Read the members of an archive or of a folder, one after another, in one pass; or one file.

A source is a tar, plain or compressed by gzip, bzip2 or xz, or the tree it unpacks to. Members are
chosen by name and handed over as open files; nothing is unpacked to disk, and no path in an
archive is ever used as a path. An archive of 8 GB is read once and never held in memory. A folder
is read without what its links bring in from elsewhere.

Data that is a single file may come as it is, compressed by gzip, or alone in a zip.

Choice: an archive is read to its last byte even if everything wanted came earlier, because gzip
        and xz have their checksum at the end.
Choice: no file is believed in what it says of sizes. An archive may unpack to a hundred times its
        size and no more than that; headers in it and files that are read whole have a limit, too.
"""

import bz2
import gzip
import io
import lzma
import re
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Protocol, runtime_checkable

from longarena.data.files import is_inside
from longarena.errors import UserError
from longarena.progress import Bar

MEGABYTE = 1 << 20
# an archive may unpack to a gigabyte, or to so many times its size; text is about a tenth
LEAST_UNPACKED, MOST_EXPANSION = 1 << 30, 100
MOST_AT_ONCE = 1 << 27
SUFFIXES = {".tar", ".gz", ".tgz", ".bz2", ".tbz2", ".xz", ".txz", ".zst", ".npz", ".zip"}
BROKEN = (
    *(EOFError, zlib.error, lzma.LZMAError),
    *(gzip.BadGzipFile, tarfile.TarError, zipfile.BadZipFile),
)
GZIP, ZIP = b"\x1f\x8b", b"PK\x03\x04"
UNPACKERS: dict[bytes, Callable[[Any], Any]] = {
    GZIP: lambda file: gzip.GzipFile(fileobj=file),
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ": lzma.LZMAFile,
    b"\x5d\x00\x00": lzma.LZMAFile,
}


@runtime_checkable
class Readable(Protocol):
    """Anything that can be read."""

    def read(self, size: int, /) -> bytes:
        """Return the next bytes, at most so many."""


Wanted = Callable[[str], bool]
Members = Generator[tuple[str, IO[bytes]], None, None]


@dataclass(frozen=True)
class Source:
    """A local archive, file or folder that is being read; `reading` opens one."""

    path: Path
    bar: Bar
    opened: ExitStack

    def members(self, wanted: Wanted) -> Members:
        """Yield the name and content of every wanted file; read it before taking the next."""
        is_folder = self.path.is_dir()
        found = _files(self.path, wanted) if is_folder else _tar(self.path, self.bar, wanted)
        # a generator that is abandoned half-way would close its file only when it is collected
        self.opened.callback(found.close)
        return found

    def content(self, most: int) -> bytes:
        """Return the first `most` bytes of a source that is a single file, unpacked."""
        if self.path.is_dir():
            raise UserError(f"{self.path} is a folder; give the file")
        with _Watched(self.path, self.bar) as raw:
            start = raw.read(4)
            raw.seek(0)
            if start.startswith(ZIP):
                return _alone_in_zip(self.path, most)
            file = gzip.GzipFile(fileobj=raw) if start.startswith(GZIP) else raw
            return b"".join(_blocks(file.read, most))


@contextmanager
def reading(path: Path, bar: Bar | None = None) -> Iterator[Source]:
    """Open a source; reading it moves `bar` on, a megabyte at a time.

    However reading a broken archive fails, the error is one line.
    """
    try:
        with ExitStack() as opened:
            yield Source(path, bar or Bar(num_megabytes(path)), opened)
    except tarfile.ReadError:
        raise UserError(f"{path} is not a tar archive, or is cut off; fetch it again") from None
    except BROKEN as error:
        raise _damaged(path, error) from None
    except OSError as error:
        if error.errno is None:  # how bz2 reports bad data
            raise _damaged(path, error) from None
        raise


def num_megabytes(path: Path) -> int:
    """Return the size of an archive, as the bar counts it; 0 for a folder."""
    return 0 if path.is_dir() else path.stat().st_size // MEGABYTE


def data_name(path: Path) -> str:
    """Name the data in a file or folder after it.

    >>> data_name(Path("downloads/aan-mini.tar.xz"))
    'aan-mini'
    """
    path = Path(path.resolve().name)
    while path.suffix in SUFFIXES:
        path = path.with_suffix("")
    return re.sub(r"[^A-Za-z0-9._-]+", "-", path.name).strip("-.") or "unnamed"


def _damaged(path: Path, error: Exception) -> UserError:
    return UserError(f"{path} is damaged or cut off ({error}); fetch it again")


def read_whole(name: str, file: Readable, most: int) -> bytes:
    """Read a member that must have at most so many bytes."""
    content = b"".join(_blocks(file.read, most + 1))
    if len(content) > most:
        raise UserError(f"{name} has more than the {most:,} bytes that it may have")
    return content


def _alone_in_zip(path: Path, most: int) -> bytes:
    try:
        with zipfile.ZipFile(path) as archive:
            files = [each for each in archive.infolist() if not each.is_dir()]
            if len(files) != 1:
                raise UserError(f"{path} holds {len(files)} files; give a zip with a single one")
            with archive.open(files[0]) as file:
                return b"".join(_blocks(file.read, most))
    except (NotImplementedError, RuntimeError) as error:  # an unknown compression, a password
        raise _damaged(path, error) from None


def _blocks(read: Callable[[int], bytes], most: int) -> Iterator[bytes]:
    """Read a file in pieces, but no further than `most` bytes."""
    while most > 0 and (block := read(min(most, MEGABYTE))):
        most -= len(block)
        yield block


def _files(folder: Path, wanted: Wanted) -> Members:
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if wanted(name) and path.is_file() and is_inside(path, folder):
            with path.open("rb") as file:
                yield name, file


def _tar(path: Path, bar: Bar, wanted: Wanted) -> Members:
    most = max(LEAST_UNPACKED, MOST_EXPANSION * path.stat().st_size)
    with (
        _Watched(path, bar) as raw,
        _unpack(raw) as unpacked,
        _open(_Guarded(path, unpacked, most)) as archive,
    ):
        while (member := _next(archive)) is not None:
            file = archive.extractfile(member) if member.isreg() and wanted(member.name) else None
            if file is not None:
                yield member.name, file
            # tarfile would keep the headers of all members, and there may be millions
            archive.members.clear()  # type: ignore[attr-defined]
        content: Any = archive.fileobj
        while content.read(MEGABYTE):
            pass


def _unpack(raw: "_Watched") -> Any:
    """Undo the compression of a file, if it has one."""
    start = raw.read(6)
    raw.seek(0)
    known = [unpack for magic, unpack in UNPACKERS.items() if start.startswith(magic)]
    return known[0](raw) if known else raw


def _open(file: "_Guarded") -> tarfile.TarFile:
    with _one_error():
        return tarfile.open(fileobj=file, mode="r:")  # type: ignore[call-overload,no-any-return]


def _next(archive: tarfile.TarFile) -> tarfile.TarInfo | None:
    with _one_error():
        return archive.next()


@contextmanager
def _one_error() -> Iterator[None]:
    """Have a header that makes no sense be an error of the archive, however it fails."""
    try:
        yield
    except (*BROKEN, OSError, UserError):
        raise
    except Exception as error:
        raise tarfile.ReadError(str(error)) from None


class _Guarded:
    """An unpacked archive that is read only in pieces, and only so far."""

    def __init__(self, path: Path, file: Any, most: int) -> None:
        self._path, self._file, self._most = path, file, most

    def read(self, size: int) -> bytes:
        """Read the next piece."""
        if not 0 <= size <= MOST_AT_ONCE:
            raise UserError(f"{self._path} is damaged: a header in it declares {size:,} bytes")
        self._check(self._file.tell())
        content: bytes = self._file.read(size)
        return content

    def seek(self, position: int) -> int:
        """Go to a place, often far ahead."""
        self._check(position)
        reached: int = self._file.seek(position)
        return reached

    def tell(self) -> int:
        """Tell how far it has been read."""
        reached: int = self._file.tell()
        return reached

    def _check(self, position: int) -> None:
        if position > self._most:
            raise UserError(
                f"{self._path} says that it unpacks to more than {self._most:,} bytes, which is "
                "too much for its size; unpack it and give the folder"
            )


class _Watched(io.FileIO):
    """A file that tells a bar how far it has been read."""

    def __init__(self, path: Path, bar: Bar) -> None:
        super().__init__(path)
        self._bar, self._shown = bar, 0

    def read(self, size: int | None = -1) -> bytes:
        content: bytes = super().read(-1 if size is None else size)
        reached = self.tell() // MEGABYTE
        if reached > self._shown:  # tarfile goes back to try another compression
            self._bar.advance(reached - self._shown)
            self._shown = reached
        return content

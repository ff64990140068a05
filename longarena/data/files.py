"""Files appear whole or not at all: written under a temporary name, flushed, renamed.

Whoever writes what others may write too holds a lock, and creates a file only where there is none.
"""

import errno
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from filelock import FileLock, Timeout

from longarena.errors import Busy

SECONDS_BETWEEN_TRIES = 0.2


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write a file so that a reader sees the old content or the new, never a part."""
    with _written(path, content) as temporary:
        temporary.replace(path)


def create(path: Path, content: str | bytes) -> bool:
    """Write a file whole where there is none; return False, and change nothing, if there is one."""
    with _written(path, content) as temporary:
        try:
            os.link(temporary, path)
        except FileExistsError:
            return False
        except OSError as error:
            if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.ENOSYS):
                raise
            # a file system without links: the lock of the caller must do
            if path.exists():
                return False
            temporary.replace(path)
    return True


@contextmanager
def appearing(path: Path) -> Iterator[BinaryIO]:
    """Open a file that appears under its name, whole, when the block has ended well."""
    with _beside(path) as temporary:
        with temporary.open("wb") as file:
            yield file
            flush(file)
        temporary.replace(path)


def flush(file: BinaryIO) -> None:
    """Have the disk hold what was written to a file."""
    file.flush()
    os.fsync(file.fileno())


@contextmanager
def _written(path: Path, content: str | bytes) -> Iterator[Path]:
    """Write the content beside a path; remove what is left of it at the end."""
    with _beside(path) as temporary:
        with temporary.open("wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            flush(file)
        yield temporary


@contextmanager
def _beside(path: Path) -> Iterator[Path]:
    """Give a temporary name beside a path; remove what has it at the end."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.partial")
    with naming(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            yield temporary
        finally:
            temporary.unlink(missing_ok=True)


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Have an error inside the block name a path: that of a full disk names none."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = str(path)
        raise


def make_way(path: Path) -> None:
    """Move a folder out of the way of a file that is about to be written."""
    if path.is_dir() and not path.is_symlink():
        names = (path.with_name(f"aside-{number}-{path.name}") for number in range(1, 1000))
        path.rename(next(each for each in names if not each.exists()))


def read_json(path: Path) -> object:
    """Read a file of JSON; raise ValueError, however it is damaged."""
    try:
        return json.loads(path.read_bytes())
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def is_inside(path: Path, folder: Path) -> bool:
    """Tell whether a path leads to something inside a folder, links and all."""
    try:
        return path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError):  # a link that leads to itself
        return False


@contextmanager
def locked(path: Path, refusal: str) -> Iterator[None]:
    """Hold the lock file `path`; raise `refusal` at once if another process holds it."""
    lock = _lock(path)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise Busy(refusal) from None
    try:
        yield
    finally:
        lock.release()


@contextmanager
def waiting(path: Path, say: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Hold the lock file `path`; wait for it, and `say` so, while another process holds it."""
    lock = _lock(path)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        say()
        lock.acquire(poll_interval=SECONDS_BETWEEN_TRIES)
    try:
        yield
    finally:
        lock.release()


def _lock(path: Path) -> FileLock:
    path.parent.mkdir(parents=True, exist_ok=True)
    return FileLock(path)

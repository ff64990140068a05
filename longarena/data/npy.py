"""Read a NumPy array row by row: a .npy file, or one array of an .npz, never all of it at once.

An .npz is a zip of .npy files. The header of an array says its shape and type; what follows are its
numbers, row after row. An array of Python objects is a pickle, that is, a program: it is refused
by its header, before anything of it is read.
"""

import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from longarena.errors import UserError, unknown

BLOCK_BYTES = 1 << 24
ArrayFile = IO[bytes] | zipfile.ZipExtFile
BROKEN = (ValueError, EOFError, OSError, zlib.error, zipfile.BadZipFile)


@dataclass(frozen=True)
class StoredArray:
    """An array in a file; `member` is its name in an .npz, and empty for a .npy."""

    path: Path
    member: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def name(self) -> str:
        """What the array is called in messages."""
        return f"{self.member} of {self.path.name}" if self.member else self.path.name

    @property
    def row_size(self) -> int:
        """The number of values of one row."""
        return int(np.prod(self.shape[1:], dtype=np.int64))

    def rows(self) -> Iterator[NDArray[Any]]:
        """Yield the rows in their order, each of one dimension."""
        row_bytes = self.row_size * self.dtype.itemsize
        at_once = max(1, BLOCK_BYTES // max(1, row_bytes))
        with _opened(self.path, self.member) as file:
            _read_header(file)
            for start in range(0, self.shape[0], at_once):
                number = min(at_once, self.shape[0] - start)
                content = _read(file, number * row_bytes)
                if len(content) < number * row_bytes:
                    raise UserError(f"{self.name} is cut off; save it again")
                yield from np.frombuffer(content, self.dtype).reshape(number, self.row_size)


def open_array(path: Path, member: str = "") -> StoredArray:
    """Read the header of an array; refuse what holds objects or lies in another order."""
    with _opened(path, member) as file:
        shape, is_fortran, dtype = _read_header(file)
    array = StoredArray(path, member, shape, dtype)
    if dtype.hasobject:
        raise UserError(
            f"{array.name} holds Python objects, which are never loaded; "
            "save one array of numbers, shorter rows filled up with NaN"
        )
    if is_fortran and len(shape) > 1:
        raise UserError(f"{array.name} is in Fortran order; save numpy.ascontiguousarray(array)")
    return array


def array_names(path: Path) -> list[str]:
    """List the arrays of an .npz."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except BROKEN as error:
        raise _damaged(path, error) from None
    return [name.removesuffix(".npy") for name in names if name.endswith(".npy")]


@contextmanager
def _opened(path: Path, member: str) -> Iterator[ArrayFile]:
    """Open the bytes of an array; however that fails, the error is one line."""
    try:
        if not member:
            with path.open("rb") as file:
                yield file
            return
        with zipfile.ZipFile(path) as archive:
            if f"{member}.npy" not in archive.namelist():
                raise unknown(f"array of {path.name}", member, array_names(path))
            with archive.open(f"{member}.npy") as file:
                yield file
    except UserError:
        raise
    except BROKEN as error:
        raise _damaged(path, error) from None


def _read_header(file: ArrayFile) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    version = npy.read_magic(file)
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, is_fortran, dtype = read(file)
    return shape, is_fortran, dtype


def _read(file: ArrayFile, number: int) -> bytes:
    """Read so many bytes, or all there are; a zip gives them in pieces."""
    parts, left = [], number
    while left and (part := file.read(left)):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def _damaged(path: Path, error: Exception) -> UserError:
    return UserError(f"{path.name} is not a whole NumPy file ({error}); save it again")

"""Read arrays that NumPy wrote, without trusting what a file says of its size.

A header of some bytes can declare an array of a petabyte, or one of no bytes and endlessly many
entries. Here nothing is allocated before it is clear that it is there and not too large; however a
file is damaged, the answer is a ValueError.
"""

import io
import math
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


def read_arrays(
    path: Path, names: Iterable[str], most_bytes: int, optional: Iterable[str] = ()
) -> dict[str, NDArray[Any]]:
    """Read arrays of an .npz file by their names; no more than `most_bytes` of each are read."""
    try:
        with zipfile.ZipFile(path) as archive:
            there = set(archive.namelist())
            found = {}
            for name in (*names, *(each for each in optional if f"{each}.npy" in there)):
                with archive.open(f"{name}.npy") as file:
                    found[name] = read_array(file.read(most_bytes))
            return found
    except OSError:
        raise
    except Exception as error:
        # a damaged archive can fail in any way, but only inside the reader
        raise ValueError(f"{path.name}: {_one_line(error)}") from None


def read_array(content: bytes) -> NDArray[Any]:
    """Read the array of an .npy file that is in memory."""
    file = io.BytesIO(content)
    try:
        version = npy.read_magic(file)
        shape, is_fortran, kind = HEADERS[version](file)
        count = math.prod(shape)
    except Exception as error:
        # as above: the header is parsed as Python
        raise ValueError(f"it is not an array of NumPy ({_one_line(error)})") from None
    if kind.hasobject or kind.itemsize == 0:
        raise ValueError(f"it holds {kind}, which is not read")
    left = len(content) - file.tell()
    if min((0, *shape)) < 0 or max((count, *shape)) * kind.itemsize > left:
        raise ValueError(f"it declares {kind} of shape {shape}, more than it has")
    array = np.frombuffer(content, kind, count, offset=file.tell())
    return array.reshape(shape, order="F" if is_fortran else "C")


def _one_line(error: Exception) -> str:
    return " ".join((str(error) or type(error).__name__).split())[:200]

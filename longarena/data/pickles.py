"""Read plain values and arrays out of a pickle without running anything in it.

A pickle is a program: it may import any name and call it. Here the few names by which NumPy writes
an array are replaced by stand-ins that only hold what they are given, and every other name is
refused. So a file cannot choose what code runs, whoever wrote it.

Before that its instructions are counted: some bytes can ask for gigabytes (a memo with an entry far
out, one long text encoded again and again) or for hours (the hash of nested tuples).
"""

import io
import pickle
import pickletools
from collections.abc import Callable

import numpy as np

from longarena.data.dataset import Bytes
from longarena.errors import UserError

MOST_INSTRUCTIONS = 2_000_000
MOST_MEMO = 1_000_000
# an array takes five; what is built of these grows with their power
MOST_BUILT = 24
BUILDING = {"TUPLE", "TUPLE1", "TUPLE2", "TUPLE3", "REDUCE", "BUILD"}
MEMO = {"PUT", "BINPUT", "LONG_BINPUT"}
REFUSED = {"FROZENSET", "EMPTY_SET", "ADDITEMS", "INST", "OBJ", "NEWOBJ", "NEWOBJ_EX", "DUP"}


class _Held:
    """Holds the arguments and the state of an object that is never made."""

    def __init__(self, *arguments: object) -> None:
        self.arguments = arguments
        self.state: object = None

    def __setstate__(self, state: object) -> None:
        self.state = state


class _Array(_Held):
    """An array that was written as (version, shape, dtype, order, bytes)."""


class _BufferArray(_Held):
    """An array that was written as (bytes, dtype, shape, order)."""


def _encode(text: str, encoding: str) -> bytes:
    """Give back bytes that Python 3 wrote as text for Python 2."""
    return text.encode("latin1" if encoding == "latin1" else "ascii")


STAND_INS: dict[tuple[str, str], Callable[..., object]] = {
    ("numpy.core.multiarray", "_reconstruct"): _Array,
    ("numpy._core.multiarray", "_reconstruct"): _Array,
    ("numpy.core.numeric", "_frombuffer"): _BufferArray,
    ("numpy._core.numeric", "_frombuffer"): _BufferArray,
    ("numpy", "ndarray"): _Held,
    ("numpy", "dtype"): _Held,
    ("_codecs", "encode"): _encode,
}


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Callable[..., object]:
        if (module, name) not in STAND_INS:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}")
        return STAND_INS[module, name]


def read_pickle(name: str, content: bytes) -> object:
    """Read a pickle of plain values and arrays; refuse any other in one line."""
    try:
        _check_instructions(content)
        return _Reader(io.BytesIO(content), encoding="bytes").load()
    except Exception as error:
        # a broken pickle can fail in any way, but only inside the reader
        why = " ".join(str(error).split())[:200]
        raise UserError(f"{name} is not a pickle of plain values and arrays ({why})") from None


def _check_instructions(content: bytes) -> None:
    """Refuse a pickle that would take more memory or time than its size lets expect."""
    num_built = 0
    for number, (code, argument, _) in enumerate(pickletools.genops(content)):
        num_built += code.name in BUILDING
        is_far = code.name in MEMO and isinstance(argument, int) and argument > MOST_MEMO
        if number > MOST_INSTRUCTIONS or num_built > MOST_BUILT or is_far or code.name in REFUSED:
            raise pickle.UnpicklingError(f"it is larger than it looks: {code.name}")


def byte_array(value: object) -> Bytes | None:
    """Return an array of bytes that came out of `read_pickle`; None if it is something else."""
    match value:
        case _Array(state=(_, tuple(shape), _Held(arguments=("u1" | b"u1", *_)), fortran, content)):
            order = "F" if fortran else "C"
        case _BufferArray(arguments=(content, _Held(arguments=("u1", *_)), tuple(shape), order)):
            pass
        case _:
            return None
    if not isinstance(content, bytes | bytearray) or len(content) != np.prod(shape):
        return None
    return np.frombuffer(content, np.uint8).reshape(shape, order="F" if order == "F" else "C")

"""Tensors in a file that can be trusted: what they are about, and a digest of everything.

The format is safetensors, so nothing is ever unpickled. The digest is of what the tensors are about
and of the name, type, shape and bytes of each; it lies in the header of the file.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import safetensors

from longarena.data.files import make_way, write_atomically
from longarena.options import Value

if TYPE_CHECKING:
    from torch import Tensor

HEADER = "longarena"

State = dict[str, Value]
Tensors = Mapping[str, "Tensor"]


@dataclass(frozen=True)
class TensorFile:
    """Tensors, what they are about, and their digest."""

    tensors: Tensors
    about: State
    digest: str


def save_tensors(path: Path, tensors: Tensors, about: State) -> str:
    """Write tensors, and what they are about, atomically; return their digest."""
    # not at the top: listing runs reads their steps, and must not wait for torch
    import safetensors.torch  # noqa: PLC0415

    # copies, because the format refuses tensors that share memory (parameters used twice)
    copies = {key: tensor.detach().cpu().clone() for key, tensor in tensors.items()}
    digest = digest_of(about, copies)
    make_way(path)
    # one entry: the order of several is not the same in every process
    header = {HEADER: json.dumps({"about": about, "sha256": digest})}
    write_atomically(path, safetensors.torch.save(copies, header))
    return digest


def load_tensors(path: Path) -> TensorFile:
    """Read a file of tensors; raise ValueError if it is not as it was written."""
    try:
        with safetensors.safe_open(path, framework="pt") as file:
            # copies, because the file is mapped and may change after it was checked
            tensors = {key: file.get_tensor(key).clone() for key in file.keys()}  # noqa: SIM118
            header = json.loads((file.metadata() or {})[HEADER])
        about, expected = header["about"], header["sha256"]
        digest = digest_of(about, tensors)
    except OSError:
        raise
    except Exception as error:
        # a damaged file can fail in any way, but only inside the reader
        raise ValueError(str(error)) from None
    if digest != expected:
        raise ValueError("its digest does not match")
    return TensorFile(tensors, about, digest)


def check_fit(expected: Tensors, found: Tensors) -> None:
    """Raise ValueError unless tensors have the names, types and shapes of others."""
    given, wanted = (
        {key: (value.dtype, tuple(value.shape)) for key, value in tensors.items()}
        for tensors in (found, expected)
    )
    differing = sorted(key for key in given | wanted if given.get(key) != wanted.get(key))
    if differing:
        raise ValueError(f"it does not fit the model: {differing[0]}")


def digest_of(about: Mapping[str, object], tensors: Tensors | None = None) -> str:
    """Digest everything that a file says."""
    found = hashlib.sha256(json.dumps(about, sort_keys=True).encode())
    for key, tensor in sorted((tensors or {}).items()):
        found.update(f"\0{key}\0{tensor.dtype}\0{tuple(tensor.shape)}\0".encode())
        found.update(tensor.numpy().tobytes())
    return found.hexdigest()

"""The answers of a run to the test split, in a small file beside its record.

    scores    what each example scored, in the order of the dataset
    answers   what was answered, in the smallest integers that hold it
    texts     what was written, a line each, as UTF-8; only of a model that writes

They let two runs be compared example by example. The record has their digest.
"""

import hashlib
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longarena.data.arrays import read_arrays
from longarena.data.files import write_atomically

SUFFIX = ".npz"
# a test split of ten million examples
MOST_BYTES = 1 << 28


@dataclass(frozen=True)
class Answers:
    """What a run answered to every example of the test split, and what that scored."""

    scores: NDArray[np.float32]
    answers: NDArray[Any]
    texts: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """A digest that differs between different answers."""
        found = hashlib.sha256(self.scores.astype("<f4").tobytes())
        found.update(self.answers.astype("<i8").tobytes())
        found.update(self.lines)
        return found.hexdigest()[:16]

    @property
    def lines(self) -> bytes:
        """The texts, each with a line end."""
        return "".join(f"{text}\n" for text in self.texts).encode()


def answers_path(record: Path) -> Path:
    """Return where the answers that belong to a record's file are kept."""
    return record.with_suffix(SUFFIX)


def write_answers(path: Path, found: Answers) -> None:
    """Write answers in the smallest types that hold them."""
    write_atomically(path, pack(found))


def pack(found: Answers) -> bytes:
    """Return the content of a file of answers."""
    is_binary = bool(np.isin(found.scores, (0, 1)).all())
    ends = (found.answers.min(initial=0), found.answers.max(initial=0))
    smallest = np.result_type(*(np.min_scalar_type(int(end)) for end in ends))
    file = io.BytesIO()
    np.savez_compressed(
        file,
        scores=found.scores.astype(bool if is_binary else np.float32),
        answers=found.answers.astype(smallest),
        texts=np.frombuffer(found.lines, np.uint8),
    )
    return file.getvalue()


def read_answers(path: Path) -> Answers:
    """Read answers; raise ValueError if the file does not hold any."""
    # a file from before models wrote has no texts
    found = read_arrays(path, ("scores", "answers"), MOST_BYTES, optional=("texts",))
    if any(array.dtype.kind not in "biuf" for array in found.values()):
        raise ValueError(f"{path} does not hold numbers")
    lines = found["texts"].tobytes().decode() if "texts" in found else ""
    texts = tuple(lines.split("\n")[:-1])
    return Answers(found["scores"].astype(np.float32), found["answers"], texts)

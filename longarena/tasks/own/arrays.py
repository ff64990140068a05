"""Arrays of series or pictures: an .npz with values and labels, or two .npy files.

    series.npz     x (examples, ...) and y (examples,)
    images.npz     x_train, y_train, x_test, y_test, and x_valid, y_valid if there are any
    series.npy     with --label labels.npy, a file beside it

Every example is read as one row, in the order in which its values lie in the array. Series of
unequal length are filled up with NaN at their end.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from longarena.data.npy import StoredArray, array_names, open_array
from longarena.errors import UserError, unknown
from longarena.tasks.own.base import OwnData, OwnOptions
from longarena.tasks.own.encoding import Encoding, scale_of
from longarena.tasks.own.item import Item
from longarena.tasks.own.names import SPLIT_NAMES
from longarena.tasks.own.survey import Survey
from longarena.tasks.raw_input import ValueInput, trimmed

MAX_ROW = 1 << 24
MAX_LABELS = 1 << 28


class ArrayOptions(OwnOptions):
    """How much of an example is read, and what the arrays of values and of labels are called.

    For a .npy, `label` is the name of the file beside it that has the labels.
    """

    max_length: int = Field(16_384, ge=1)
    values: str = "x"
    label: str = "y"


class Arrays(OwnData):
    """Classification of rows of values."""

    options_type: ClassVar[type[OwnOptions]] = ArrayOptions
    options: ArrayOptions
    has_values = True

    @property
    def raw_input(self) -> ValueInput:
        found = self.found
        return ValueInput(low=found.low, high=found.high, array=self.options.values)

    def rule(self, path: Path) -> str:
        return "as its arrays are named"

    def files(self, path: Path) -> list[Path]:
        return [path, self._label_file(path)] if path.suffix.lower() == ".npy" else [path]

    def items(self, path: Path) -> Iterator[Item]:
        for split, values, labels in self._arrays(path):
            check_values(values)
            _check_labels(labels, values)
            names = _names(labels)
            for number, row in enumerate(values.rows()):
                place = f"{values.name}, row {number + 1}"
                yield Item(place, (trimmed(row),), names[number], split)

    def encoding(self, found: Survey, path: Path) -> Encoding:
        return scale_of(found, self.name)

    def image_shape(self, path: Path) -> tuple[int, int] | None:
        _, values, _ = next(iter(self._arrays(path)))
        is_picture = len(values.shape) == 3 and values.dtype == np.uint8
        return (values.shape[1], values.shape[2]) if is_picture else None

    def _arrays(self, path: Path) -> list[tuple[str, StoredArray, StoredArray]]:
        """Find the values and labels of each split, or of all examples."""
        if path.suffix.lower() == ".npy":
            return [("", open_array(path), open_array(self._label_file(path)))]
        values, label, names = self.options.values, self.options.label, array_names(path)
        if values in names:
            return [("", open_array(path, values), open_array(path, label))]
        found = {
            split: (f"{values}_{word}", f"{label}_{word}")
            for word, split in SPLIT_NAMES.items()
            if f"{values}_{word}" in names
        }
        if "train" not in found:
            wrong = unknown(f"array of {path.name}", values, names)
            raise UserError(f"{wrong}; choose with --set task.values=NAME --label NAME")
        return [
            (split, open_array(path, x), open_array(path, y)) for split, (x, y) in found.items()
        ]

    def _label_file(self, path: Path) -> Path:
        if not self.options.label.endswith(".npy"):
            raise UserError(f"{path.name} has no labels; name a file beside it: --label labels.npy")
        file = path.parent / Path(self.options.label).name
        if not file.is_file():
            raise UserError(f"{file} does not exist; it should have the labels of {path.name}")
        return file


def check_values(values: StoredArray) -> None:
    """Refuse an array that is not a row of values for each example."""
    if values.dtype.kind not in "buif":
        raise UserError(f"{values.name} holds {values.dtype}; values are whole or decimal numbers")
    if len(values.shape) < 2 or 0 in values.shape:
        raise UserError(f"{values.name} has the shape {values.shape}; (examples, length) is needed")
    if values.row_size > MAX_ROW:
        raise UserError(f"{values.name} has rows of {values.row_size:,} values; cut them")


def _check_labels(labels: StoredArray, values: StoredArray) -> None:
    """Refuse an array that is not a class for each example."""
    if labels.dtype.kind not in "buifUS":
        raise UserError(f"{labels.name} holds {labels.dtype}; labels are whole numbers or words")
    if len(labels.shape) != 1:
        raise UserError(
            f"{labels.name} has the shape {labels.shape}; one label for each example is needed "
            "(of one-hot rows, take argmax)"
        )
    if labels.shape != values.shape[:1]:
        raise UserError(
            f"{labels.name} has {labels.shape[0]:,} labels for the {values.shape[0]:,} rows of "
            f"{values.name}"
        )
    if labels.shape[0] * labels.dtype.itemsize > MAX_LABELS:
        raise UserError(f"{labels.name} is larger than {MAX_LABELS:,} bytes; number the classes")


def _names(labels: StoredArray) -> list[str]:
    """Read the classes of all examples."""
    found: NDArray[Any] = np.concatenate(list(labels.rows()))
    if found.dtype.kind == "S":
        return [name.decode(errors="replace") for name in found.tolist()]
    if found.dtype.kind == "f":
        if not np.isfinite(found).all() or (found != np.rint(found)).any():
            raise UserError(f"{labels.name} holds decimal numbers; labels are classes")
        found = found.astype(np.int64)
    return [str(name) for name in found.tolist()]

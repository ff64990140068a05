r"""A folder of .wav files, in a sub-folder for each class or with the class in their names.

    longarena train speech/ s4d
    longarena train recordings/ s4d --label '^(\d)_' --set task.rate=4000

Choice: loudness is kept: one scale for all recordings (`encoding.py`).
"""

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from longarena.data.wav import decode
from longarena.errors import UserError
from longarena.tasks.own.base import OwnData, OwnOptions
from longarena.tasks.own.encoding import Encoding, scale_of
from longarena.tasks.own.folders import FolderOptions, class_files, read_whole
from longarena.tasks.own.item import Item
from longarena.tasks.own.survey import Survey
from longarena.tasks.raw_input import ValueInput

MAX_BYTES = 1 << 26
MAX_SAMPLES = 1 << 24


class RecordingOptions(FolderOptions):
    """How much of a recording is read, and at how many samples a second; None as recorded."""

    max_length: int = Field(16_384, ge=1)
    rate: int | None = Field(None, ge=1)


class Recordings(OwnData):
    """Classification of recordings by their samples."""

    options_type: ClassVar[type[OwnOptions]] = RecordingOptions
    options: RecordingOptions
    has_values = True

    @property
    def unit(self) -> str:
        return "samples"

    @property
    def raw_input(self) -> ValueInput:
        found = self.found
        return ValueInput(low=found.low, high=found.high, rate=self.options.rate)

    def items(self, path: Path) -> Iterator[Item]:
        first = ""
        rate = 0
        for file in class_files(path, self.options.label, ".wav"):
            found = decode(read_whole(file.path, file.place, MAX_BYTES), file.place, MAX_SAMPLES)
            first, rate = first or file.place, rate or found.rate
            if found.rate != rate:
                raise UserError(
                    f"{file.place} has {found.rate} samples a second, {first} has {rate}; "
                    "convert them to one rate"
                )
            found = found.at_rate(self.options.rate or rate, file.place)
            yield Item(file.place, (found.samples,), file.label, file.split)

    def encoding(self, found: Survey, path: Path) -> Encoding:
        return scale_of(found, self.name)

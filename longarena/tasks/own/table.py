"""A table of texts: .csv, .tsv, .jsonl or .parquet, one file or one for each split in a folder.

    longarena train reviews.csv linear --text review --label stars
    longarena train reviews/ linear          train.csv, valid.csv and test.csv in it

Two columns, `--text question,answer`, make every example a pair.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import numpy as np

from longarena.errors import UserError
from longarena.tasks.own.base import OwnOptions
from longarena.tasks.own.item import Item
from longarena.tasks.own.names import SPLIT_NAMES, split_files
from longarena.tasks.own.rows import FORMATS
from longarena.tasks.own.tokens import OwnTokenOptions, TextData
from longarena.tasks.raw_input import TextInput


class TableOptions(OwnTokenOptions):
    """Which columns are read: the text, or two separated by a comma, the label and the split.

    Without `header` the first line is an example, and columns are called 1, 2, 3 and so on.
    """

    text: str = "text"
    label: str = "label"
    split: str = ""
    header: bool = True


class Table(TextData):
    """Classification of the texts in a table, or of pairs of them."""

    options_type: ClassVar[type[OwnOptions]] = TableOptions
    options: TableOptions

    @property
    def columns(self) -> list[str]:
        """The columns of the text."""
        names = [name.strip() for name in self.options.text.split(",")]
        if not all(names) or len(names) > 2:
            raise UserError(f"--text {self.options.text!r} names neither one column nor two")
        return names

    @property
    def raw_input(self) -> TextInput:
        columns = {"columns": tuple(self.columns), "has_header": self.options.header}
        return super().raw_input.model_copy(update=columns)

    @property
    def num_sequences(self) -> int:
        return len(self.columns)

    def rule(self, path: Path) -> str:
        return "as its files are named" if path.is_dir() else f"column {self.options.split}"

    def files(self, path: Path) -> list[Path]:
        return list(split_files(path).values()) if path.is_dir() else [path]

    def items(self, path: Path) -> Iterator[Item]:
        files = split_files(path) if path.is_dir() else {"": path}
        if "train" not in files and "" not in files:
            raise UserError(f"{path} has no file called train{next(iter(files.values())).suffix}")
        if path.is_dir() and self.options.split:
            raise UserError(f"{path}: its files are its splits; leave out split")
        for split, file in files.items():
            yield from self._rows(file, split)

    def _rows(self, path: Path, split: str) -> Iterator[Item]:
        options, texts = self.options, self.columns
        named = [options.split] if options.split else []
        read = FORMATS[path.suffix.lower()]
        for place, values in read(path, [*texts, options.label, *named], options.header):
            try:
                sequences = [text.encode() for text in values[: len(texts)]]
            except UnicodeEncodeError:
                raise UserError(f"{place}: the text has half of a character in it") from None
            yield Item(
                place,
                tuple(np.frombuffer(sequence, np.uint8) for sequence in sequences),
                values[len(texts)].strip(),
                _split(values[-1], place) if named else split,
            )


def _split(value: str, place: str) -> str:
    split = SPLIT_NAMES.get(value.strip().lower())
    if split is None:
        raise UserError(f"{place}: {value!r} is no split; call them train, valid and test")
    return split

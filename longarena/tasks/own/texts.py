"""A folder of texts, or of any other files that are read as bytes, in a sub-folder for each class.

longarena train newsgroups/ linear
"""

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import numpy as np

from longarena.tasks.own.base import OwnOptions
from longarena.tasks.own.folders import FolderOptions, class_files, read_whole
from longarena.tasks.own.item import Item
from longarena.tasks.own.rows import MAX_FIELD
from longarena.tasks.own.tokens import OwnTokenOptions, TextData


class TextsOptions(FolderOptions, OwnTokenOptions):
    """Where the class of a file stands, and what its tokens are."""


class Texts(TextData):
    """Classification of files."""

    options_type: ClassVar[type[OwnOptions]] = TextsOptions
    options: TextsOptions

    def items(self, path: Path) -> Iterator[Item]:
        for file in class_files(path, self.options.label):
            content = np.frombuffer(read_whole(file.path, file.place, MAX_FIELD), np.uint8)
            yield Item(file.place, (content,), file.label, file.split)

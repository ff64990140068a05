"""Tasks on texts of the user's: their tokens are bytes, or byte pairs or words on request."""

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from longarena.data.dataset import DiskTokens
from longarena.data.tokens import TOKENISER, read_tokeniser
from longarena.errors import UserError
from longarena.tasks.base import default_home
from longarena.tasks.own.base import OwnData, OwnOptions
from longarena.tasks.own.encoding import AsBytes, Encoding, tokens_of
from longarena.tasks.own.item import Item
from longarena.tasks.own.survey import Survey
from longarena.tasks.raw_input import TextInput
from longarena.tasks.tokens import TokenOptions


class OwnTokenOptions(TokenOptions, OwnOptions):
    """How much of a text is read, and what its tokens are."""


class TextData(OwnData):
    """Classification of texts."""

    options_type: ClassVar[type[OwnOptions]] = OwnTokenOptions
    options: OwnTokenOptions

    @property
    def unit(self) -> str:
        return self.options.unit

    @property
    def raw_input(self) -> TextInput:
        return TextInput(has_tokeniser=self.options.has_tokeniser)

    def encoding(self, found: Survey, path: Path) -> Encoding:
        if not self.options.has_tokeniser:
            return AsBytes()
        return tokens_of(found, self.texts(path), self.options.learn)

    def texts(self, path: Path) -> Iterator[Item]:
        """Read every example, and refuse bytes that are no text."""
        for item in self.items(path):
            try:
                for sequence in item.sequences:
                    sequence.tobytes().decode()
            except UnicodeDecodeError:
                kind = self.options.tokens
                raise UserError(
                    f"{item.place} is not UTF-8; save it so, or leave out tokens={kind}"
                ) from None
            yield item

    def decode(self, tokens: DiskTokens) -> str:
        if not self.options.has_tokeniser:
            return super().decode(tokens)
        path = self.stored.folder(default_home()) / TOKENISER
        return read_tokeniser(path.read_text(encoding="utf-8")).decode(tokens.tolist())

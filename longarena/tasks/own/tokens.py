"""Tasks on texts of the user's: their tokens are bytes, or byte pairs on request."""

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field

from longarena.data.dataset import DiskTokens
from longarena.data.tokens import read_tokeniser
from longarena.errors import UserError
from longarena.tasks.base import default_home
from longarena.tasks.own.base import OwnData, OwnOptions
from longarena.tasks.own.encoding import TOKENISER, AsBytes, Encoding, pairs_of
from longarena.tasks.own.item import Item
from longarena.tasks.own.survey import Survey
from longarena.tasks.raw_input import TextInput


class TokenOptions(OwnOptions):
    """What a token is: a byte, or a pair of tokens that often stand together (bpe).

    `vocabulary` is the greatest number of tokens for `bpe`.
    """

    tokens: Literal["bytes", "bpe"] = "bytes"
    vocabulary: int = Field(8000, ge=300, le=60_000)


class TextData(OwnData):
    """Classification of texts."""

    options_type: ClassVar[type[OwnOptions]] = TokenOptions
    options: TokenOptions

    @property
    def unit(self) -> str:
        return "bytes" if self.options.tokens == "bytes" else "tokens"

    @property
    def raw_input(self) -> TextInput:
        return TextInput(has_tokeniser=self.options.tokens == "bpe")

    def encoding(self, found: Survey, path: Path) -> Encoding:
        if self.options.tokens == "bytes":
            return AsBytes()
        return pairs_of(found, self.texts(path), self.options.vocabulary)

    def texts(self, path: Path) -> Iterator[Item]:
        """Read every example, and refuse bytes that are no text."""
        for item in self.items(path):
            try:
                for sequence in item.sequences:
                    sequence.tobytes().decode()
            except UnicodeDecodeError:
                raise UserError(
                    f"{item.place} is not UTF-8; save it so, or leave out tokens=bpe"
                ) from None
            yield item

    def decode(self, tokens: DiskTokens) -> str:
        if self.options.tokens == "bytes":
            return super().decode(tokens)
        path = self.stored.folder(default_home()) / TOKENISER
        return read_tokeniser(path.read_text(encoding="utf-8")).decode(tokens.tolist())

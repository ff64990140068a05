"""What a token of a text is: a byte, a byte pair or a word; and the tasks that leave the choice.

    tokens=bytes                      a token for each byte; nothing is learned
    tokens=bpe vocabulary=1000        bytes, and pairs of them that often stand together
    tokens=words vocabulary=8000      words and marks, the most frequent; all others are unknown

What a token is makes another dataset, with the tokeniser in it. `max_length` counts tokens.

Choice: a vocabulary is learned from the training split alone: from whole texts, however long the
        part is that a model reads, and from each text once, in however many examples it stands.
Choice: a smaller version (`size`) has the tokeniser of the whole training split.
Choice: bytes that are no UTF-8 are read as U+FFFD where tokens are no bytes.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from longarena.data.dataset import Chunk, DiskTokens
from longarena.data.tokens import (
    NUM_BYTES,
    TOKENISER,
    Tokeniser,
    read_tokeniser,
    train_byte_pairs,
    train_words,
)
from longarena.options import Options
from longarena.tasks.base import SPLITS, Task, default_home
from longarena.tasks.raw_input import TextInput
from longarena.tasks.splits import CHUNK, Example, chunks

MOST_TEXT = 1 << 20  # bytes of one text
NAMES = {"bytes": "bytes", "bpe": "byte pairs", "words": "words"}


class TokenOptions(Options):
    """What a token is: a byte, a pair of tokens that often stand together (bpe), or a word.

    `vocabulary` is the greatest number of tokens for `bpe` and `words`.
    """

    tokens: Literal["bytes", "bpe", "words"] = "bytes"
    vocabulary: int = Field(8000, ge=300, le=60_000)

    @model_validator(mode="after")
    def _bytes_have_no_vocabulary(self) -> "TokenOptions":
        usual = type(self).model_fields["vocabulary"].default
        if not self.has_tokeniser and self.vocabulary != usual:
            raise ValueError(
                "bytes have no vocabulary to choose; add tokens=bpe or tokens=words, or put "
                f"vocabulary back to {usual}"
            )
        return self

    @property
    def has_tokeniser(self) -> bool:
        """Whether tokens are learned, not bytes."""
        return self.tokens != "bytes"

    @property
    def unit(self) -> str:
        """What a text is made of."""
        return "tokens" if self.has_tokeniser else "bytes"

    @property
    def vocab_size(self) -> int:
        """The number of ids with that of padding; there may be fewer in a small set of texts."""
        return 1 + (self.vocabulary if self.has_tokeniser else NUM_BYTES)

    def learn(self, texts: Iterable[str]) -> Tokeniser:
        """Learn the tokens of some texts."""
        train = train_words if self.tokens == "words" else train_byte_pairs
        return train(texts, self.vocabulary)


class ReadOptions(TokenOptions):
    """How much of a text is read, and what its tokens are."""

    max_length: int = Field(ge=1)

    @property
    def bytes_read(self) -> int:
        """How many bytes of a text are needed."""
        return MOST_TEXT if self.has_tokeniser else self.max_length


class TokenTask(Task):
    """A task on texts; in a table they stand in `columns`."""

    options_type: ClassVar[type[Options]] = ReadOptions
    options: ReadOptions
    columns: ClassVar[tuple[str, ...]] = ("text",)

    @property
    def raw_input(self) -> TextInput:
        return TextInput(columns=self.columns, has_tokeniser=self.options.has_tokeniser)

    def packed(
        self, splits: Mapping[str, Sequence[Example]]
    ) -> Iterator[tuple[str, Chunk | bytes]]:
        """Turn the texts of every split into tokens, by those of the training split."""
        if not self.options.has_tokeniser:
            for split in SPLITS:
                yield from chunks(split, splits[split])
            return
        texts = dict.fromkeys(text for sequences, _ in splits["train"] for text in sequences)
        tokeniser = self.options.learn(map(_decoded, texts))
        yield TOKENISER, tokeniser.to_json().encode()
        encoder = _Encoder(tokeniser, self.options.max_length)
        for split in SPLITS:
            for start in range(0, len(splits[split]), CHUNK):
                yield split, encoder.chunk(splits[split][start : start + CHUNK])

    def tokeniser(self) -> Tokeniser:
        """Read what made the tokens of the prepared data."""
        return read_tokeniser((self.folder(default_home()) / TOKENISER).read_text(encoding="utf-8"))

    def write(self, tokens: DiskTokens) -> str:
        """Write tokens as text."""
        if self.options.has_tokeniser:
            return self.tokeniser().decode(tokens.tolist())
        return tokens.tobytes().decode(errors="replace")


@dataclass(frozen=True)
class _Encoder:
    """Cuts texts into tokens, each text once: a paper is in many pairs."""

    tokeniser: Tokeniser
    longest: int
    _known: dict[bytes, list[int]] = field(default_factory=dict)

    def chunk(self, examples: Sequence[Example]) -> Chunk:
        """Pack some examples for a dataset."""
        texts = [text for sequences, _ in examples for text in sequences]
        self._learn(texts)
        whole = [self._known[text] for text in texts]
        cut = np.array([len(tokens) > self.longest for tokens in whole]).reshape(len(examples), -1)
        parts = [np.array(tokens[: self.longest], np.uint16) for tokens in whole]
        return Chunk(
            tokens=np.concatenate(parts),
            lengths=np.array([len(part) for part in parts], np.int64),
            labels=np.array([label for _, label in examples], np.int64),
            num_cut=int(cut.any(axis=1).sum()),
        )

    def _learn(self, texts: Sequence[bytes]) -> None:
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        found = self.tokeniser.encode_all([*map(_decoded, new)])
        # one more than is read tells that there was more
        self._known.update(
            (text, tokens[: self.longest + 1]) for text, tokens in zip(new, found, strict=True)
        )


def _decoded(text: bytes) -> str:
    return text.decode(errors="replace")

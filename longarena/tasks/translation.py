"""Translation: write a sentence in another language; what the sets of parallel text share.

An example is a pair of sequences, the sentence and its translation, in tokens of one vocabulary
for both languages: byte pairs that are learned from the training split alone, or bytes. There are
no tokens for beginning and end; a model adds its own. The sentences themselves are kept beside the
tokens (`longarena/data/parallel.py`), and a translation is scored against them.

Choice: a training pair is left out if a side is empty, longer than `max_length` tokens, or more
        than `max_ratio` times as long as the other, as Moses and fairseq clean a corpus; the ratio
        is Moses' default. Nothing is left out of the other splits; there, the tokens of a sentence
        end at `max_length`, and the sentence that a translation is compared with is whole.
Choice: a smaller version (`size`) has the tokeniser of the whole training split.
"""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from longarena.data.archive import Source
from longarena.data.dataset import TOKEN_TYPES, Chunk, Split, token_type
from longarena.data.parallel import SIDES, Parallel, ParallelDataset, text_name
from longarena.data.tokens import (
    NUM_BYTES,
    TOKENISER,
    ByteTokeniser,
    Tokeniser,
    train_byte_pairs,
)
from longarena.errors import UserError
from longarena.options import Options
from longarena.tasks.base import SPLITS, Task
from longarena.tasks.raw_input import TextInput
from longarena.tasks.sentences import Languages, Pair
from longarena.tasks.signature import Signature
from longarena.tasks.splits import CHUNK

BYTES_PER_TOKEN = 4  # about as many as byte pairs have in European languages


class TranslationOptions(Options):
    """What the tokens are, and which training pairs are left out.

    `max_length` is in tokens; None means 128 byte pairs or 512 bytes.
    """

    usual_length: ClassVar[int] = 128

    tokens: Literal["bpe", "bytes"] = "bpe"
    vocabulary: int = Field(8000, gt=NUM_BYTES, le=1 << 16)
    max_length: int | None = Field(None, ge=1)
    max_ratio: float = Field(9.0, ge=1)
    lower_case: bool = False

    @model_validator(mode="after")
    def _bytes_have_no_vocabulary(self) -> "TranslationOptions":
        usual = type(self).model_fields["vocabulary"].default
        if self.tokens == "bytes" and self.vocabulary != usual:
            raise ValueError("bytes have no vocabulary to choose; leave out one of the two options")
        return self

    @property
    def longest(self) -> int:
        """The most tokens of a sequence."""
        usual = self.usual_length * (BYTES_PER_TOKEN if self.tokens == "bytes" else 1)
        return self.max_length or usual

    def fits(self, source: Sequence[int], target: Sequence[int]) -> bool:
        """Tell whether a pair is one to train on."""
        shorter, longer = sorted((len(source), len(target)))
        return shorter > 0 and longer <= min(self.longest, self.max_ratio * shorter)


class Translation(Task):
    """Sentences and their translations; subclasses say where they are."""

    options_type = TranslationOptions
    options: TranslationOptions
    dataset_type = ParallelDataset
    raw_input = TextInput(has_tokeniser=True)

    @property
    @abstractmethod
    def direction(self) -> str:
        """From which language into which, such as de-en."""

    @abstractmethod
    def pairs(self, source: Source) -> dict[str, list[Pair]]:
        """Return the sentences of each split with their translations."""

    @property
    def languages(self) -> Languages:
        """The language that is read, and the one that is written."""
        source, _, target = self.direction.partition("-")
        return source, target

    @property
    def signature(self) -> Signature:
        is_bytes = self.options.tokens == "bytes"
        return Signature(
            vocab_size=1 + (NUM_BYTES if is_bytes else self.options.vocabulary),
            max_length=self.options.longest,
            num_sequences=2,
            track="translation",
        )

    @property
    def left_out(self) -> str:
        """What is not trained on, in words for the card."""
        options = self.options
        return (
            f"training pairs with an empty side, over {options.longest} tokens or over "
            f"{options.max_ratio:g} times as long on one side are left out"
        )

    def read(self, source: Source) -> Iterator[tuple[str, Chunk | bytes]]:
        pairs = self.pairs(source)
        tokeniser = self._learn(pairs["train"])
        yield TOKENISER, tokeniser.to_json().encode()
        for split in SPLITS:
            for which, side in enumerate(SIDES):
                lines = "".join(f"{pair[which]}\n" for pair in pairs[split])
                yield text_name(split, side), lines.encode()
            found = list(self._chunks(split, pairs[split], tokeniser))
            if not any(len(chunk.labels) for chunk in found):
                raise UserError(
                    f"{source.path}: no pair of {split} is left; raise max_length or max_ratio, or "
                    "see whether the files belong together"
                )
            yield from ((split, chunk) for chunk in found)

    def show(self, split: Split, example: int) -> str:
        if not isinstance(split, Parallel):
            return super().show(split, example)
        rows = []
        for which, language in enumerate(self.languages):
            tokens = split.sequence(example, which).tolist()
            rows.append(f"{language} ({len(tokens)} tokens): {split.tokeniser.decode(tokens)}")
        return "\n".join([f"line {split.labels[example] + 1:,}", *rows])

    def _learn(self, pairs: Sequence[Pair]) -> Tokeniser:
        options = self.options
        if options.tokens == "bytes":
            return ByteTokeniser(options.lower_case)
        texts = chain.from_iterable(pairs)
        return train_byte_pairs(texts, options.vocabulary, options.lower_case)

    def _chunks(self, split: str, pairs: Sequence[Pair], tokeniser: Tokeniser) -> Iterator[Chunk]:
        longest, is_train = self.options.longest, split == "train"
        kind = TOKEN_TYPES[token_type(self.signature.vocab_size)]
        for start in range(0, len(pairs), CHUNK):
            part = pairs[start : start + CHUNK]
            sides = (tokeniser.encode_all(texts) for texts in zip(*part, strict=True))
            rows = list(enumerate(zip(*sides, strict=True), start))
            kept = [row for row in rows if not is_train or self.options.fits(*row[1])]
            sequences = [tokens[:longest] for _, row in kept for tokens in row]
            yield Chunk(
                tokens=np.fromiter(chain.from_iterable(sequences), kind),
                lengths=np.array([len(tokens) for tokens in sequences], np.int64),
                labels=np.array([number for number, _ in kept], np.int64),
                num_dropped=len(rows) - len(kept),
                num_cut=sum(max(map(len, row)) > longest for _, row in kept),
            )

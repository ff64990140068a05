"""Tokenisers: text becomes a row of numbers, and numbers become text again.

    bytes        one token for each byte of UTF-8, 256 in all; nothing is learned
    byte pairs   the 256 bytes, and the pairs that were most frequent in some texts, joined again
                 and again until there are as many tokens as wanted
    words        the words and marks that were most frequent in some texts; all others are one
                 token, the unknown

Nothing is unknown to the first two, and decode(encode(text)) == text for every text. What a model
writes may be no text: bytes that are no UTF-8 come out as U+FFFD. Words come back without the space
that was between them, and unknown ones do not come back.

Paper:  byte-pair encoding: Sennrich et al. (2016), https://arxiv.org/abs/1508.07909; on bytes:
        Radford et al. (2019), GPT-2, whose rule for the borders of words is used
Choice: a space is put before a text and taken off again, so that a word is the same token at the
        beginning of a sentence as inside it.
Choice: a word is a run of letters, digits and underscores; every other mark but space is a token by
        itself. Capital letters stay, so that all three read the same text.
Choice: `to_json` writes tokens and merges alone, not the file of the `tokenizers` library, whose
        form changes with its versions; a fingerprint must not.
"""

import json
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from longarena.errors import UserError

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from tokenizers.models import BPE

NUM_BYTES = 256
TOKENISER = "tokeniser.json"  # its file in a dataset
BORDER = " "
WORD = re.compile(r"\w+|[^\w\s]")
UNKNOWN, UNKNOWN_TEXT = 0, "\N{REPLACEMENT CHARACTER}"


class Tokeniser(ABC):
    """Turns text into tokens and tokens into text; with `lower_case` it makes text small first."""

    lower_case: bool

    @property
    @abstractmethod
    def num_tokens(self) -> int:
        """The number of tokens; they are 0 ... num_tokens - 1."""

    @abstractmethod
    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the tokens of each text; faster than one by one."""

    @abstractmethod
    def decode(self, tokens: Sequence[int]) -> str:
        """Return the text that some tokens spell; numbers that are no tokens are skipped."""

    @abstractmethod
    def to_json(self) -> str:
        """Write the tokeniser, for `read_tokeniser`."""

    def encode(self, text: str) -> list[int]:
        """Return the tokens of a text."""
        return self.encode_all([text])[0]


@dataclass(frozen=True)
class ByteTokeniser(Tokeniser):
    """One token for each byte.

    >>> ByteTokeniser().encode("hé")
    [104, 195, 169]
    """

    lower_case: bool = False

    @property
    def num_tokens(self) -> int:
        return NUM_BYTES

    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        return [list(_cased(text, self.lower_case).encode()) for text in texts]

    def decode(self, tokens: Sequence[int]) -> str:
        return bytes(token for token in tokens if token < NUM_BYTES).decode(errors="replace")

    def to_json(self) -> str:
        return json.dumps({"kind": "bytes", "lower_case": self.lower_case})


@dataclass(frozen=True)
class BytePairs(Tokeniser):
    """Bytes, and pairs of them that were joined; `tokens` are spelt in the alphabet of GPT-2.

    There are fewer than were wanted if the texts had no more pairs.
    """

    tokens: tuple[str, ...]
    merges: tuple[tuple[str, str], ...]
    lower_case: bool = False

    @property
    def num_tokens(self) -> int:
        return len(self.tokens)

    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        bordered = [_bordered(text, self.lower_case) for text in texts]
        return [found.ids for found in self._library.encode_batch(bordered)]

    def decode(self, tokens: Sequence[int]) -> str:
        known = [int(token) for token in tokens if token < len(self.tokens)]
        text: str = self._library.decode(known)
        return text.removeprefix(BORDER)

    def to_json(self) -> str:
        parts = {"tokens": self.tokens, "merges": self.merges}
        about = {"kind": "byte pairs", "lower_case": self.lower_case} | parts
        return json.dumps(about, ensure_ascii=False, separators=(",", ":"))

    @cached_property
    def _library(self) -> "Tokenizer":
        from tokenizers.models import BPE  # noqa: PLC0415

        vocabulary = {token: number for number, token in enumerate(self.tokens)}
        return _on_bytes(BPE(vocabulary, list(self.merges)))


@dataclass(frozen=True)
class Words(Tokeniser):
    """Whole words and marks; token 0 is every word that is not among `words`.

    >>> Words(("good", "!")).encode("A good, good film!")
    [0, 1, 0, 1, 0, 2]
    """

    words: tuple[str, ...]
    lower_case: bool = False

    @property
    def num_tokens(self) -> int:
        return len(self.words) + 1

    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        find = self._numbers.get
        found = (WORD.findall(_cased(text, self.lower_case)) for text in texts)
        # no text has no tokens, but one of spaces has an unknown one
        return [
            [find(word, UNKNOWN) for word in words] or [UNKNOWN] * bool(text)
            for text, words in zip(texts, found, strict=True)
        ]

    def decode(self, tokens: Sequence[int]) -> str:
        known = (UNKNOWN_TEXT, *self.words)
        return " ".join(known[token] for token in tokens if token < len(known))

    def to_json(self) -> str:
        about = {"kind": "words", "lower_case": self.lower_case, "words": self.words}
        return json.dumps(about, ensure_ascii=False, separators=(",", ":"))

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {word: number for number, word in enumerate(self.words, UNKNOWN + 1)}


def train_words(texts: Iterable[str], vocabulary: int) -> Words:
    """Learn at most `vocabulary` tokens, the unknown included; of equals the first by name."""
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(WORD.findall(text))
    order = sorted(counts, key=lambda word: (-counts[word], word))
    return Words(tuple(order[: vocabulary - 1]))


def train_byte_pairs(texts: Iterable[str], vocabulary: int, lower_case: bool = False) -> BytePairs:
    """Learn at most `vocabulary` tokens from texts; the same texts give the same tokens."""
    from tokenizers.models import BPE  # noqa: PLC0415
    from tokenizers.pre_tokenizers import ByteLevel  # noqa: PLC0415
    from tokenizers.trainers import BpeTrainer  # noqa: PLC0415

    library = _on_bytes(BPE())
    trainer = BpeTrainer(
        vocab_size=vocabulary,
        initial_alphabet=sorted(ByteLevel.alphabet()),
        special_tokens=[],
        show_progress=False,
    )
    bordered = (_bordered(text, lower_case) for text in texts)
    library.train_from_iterator(bordered, trainer)
    learned = json.loads(library.to_str())["model"]
    tokens = sorted(learned["vocab"], key=learned["vocab"].__getitem__)
    merges = tuple((left, right) for left, right in learned["merges"])
    return BytePairs(tuple(tokens), merges, lower_case)


def read_tokeniser(text: str) -> Tokeniser:
    """Read what `to_json` of a tokeniser wrote."""
    about = json.loads(text)
    kind, lower_case = about["kind"], about["lower_case"]
    if kind == "bytes":
        return ByteTokeniser(lower_case)
    if kind == "byte pairs":
        merges = tuple((left, right) for left, right in about["merges"])
        return BytePairs(tuple(about["tokens"]), merges, lower_case)
    if kind == "words":
        return Words(tuple(about["words"]), lower_case)
    raise UserError(f"a tokeniser of the kind {kind!r} is unknown; use a newer longarena")


def _cased(text: str, lower_case: bool) -> str:
    return text.lower() if lower_case else text


def _bordered(text: str, lower_case: bool) -> str:
    # no text has no tokens
    return BORDER + _cased(text, lower_case) if text else ""


def _on_bytes(model: "BPE") -> "Tokenizer":
    """Complete a model of the library: words are cut by GPT-2's rule and spelt in bytes."""
    from tokenizers import Tokenizer, decoders, pre_tokenizers  # noqa: PLC0415

    library = Tokenizer(model)
    library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    library.decoder = decoders.ByteLevel()
    return library

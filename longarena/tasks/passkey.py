"""Passkey: repeat five digits that are hidden in a text without meaning.

    The grass is green. The sky is blue. ... There and ba
    The pass key is 71432. Remember it. 71432 is the pass key.
    The grass is green. The sky ...
    What is the pass key? The pass key is 71432

A token is a byte. The digits at the end are asked one by one; the model reads those that it should
have named before. A run is tested at all powers of two up to `longest`, and the answers are told
apart by how deep in the text the key was hidden: accuracy over depth and length.

Paper:  Mohtashami & Jaggi (2023), https://arxiv.org/abs/2305.16300; words as in
        epfml/landmark-attention, llama/run_test.py
Choice: the sentence that explains the task is left out: this model is trained on nothing else, and
        the text can be short.
Choice: a key has always five digits (there: a number from 1 to 50,000). Eight tenths of all keys
        are for training, a tenth each for validation and test: no key of the test was ever trained.
Choice: the text begins anew behind the key, and is cut wherever the length says, as there.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

import numpy as np
from pydantic import Field, model_validator

from longarena.data.dataset import Bytes, Chunk, DiskTokens
from longarena.options import Options
from longarena.seeding import numpy_rng
from longarena.tasks.base import Task, TaskCard
from longarena.tasks.questions import NOTHING, Questions, doubled, generate, tenths
from longarena.tasks.signature import Signature

FILLER = (
    "The grass is green. The sky is blue. The sun is yellow. Here we go. There and back again. "
)
NEEDLE = "\nThe pass key is {key}. Remember it. {key} is the pass key.\n"
QUESTION = "\nWhat is the pass key? The pass key is {key}"
DIGITS = 5
# the last digit is asked, but not read
FIXED = len((NEEDLE + QUESTION).format(key="0" * DIGITS)) - 1
SHARES = {"train": (0.0, 0.8), "valid": (0.8, 0.9), "test": (0.9, 1.0)}  # of all keys


class PasskeyOptions(Options):
    """How long the texts of training are, and the longest that a model is tested on."""

    length: int = Field(1024)
    longest: int = Field(4096, ge=1)

    @model_validator(mode="after")
    def _everything_has_room(self) -> "PasskeyOptions":
        if self.length < FIXED:
            raise ValueError(f"key and question alone need a length of {FIXED}")
        return self


class Passkey(Task):
    """Find five digits in a text, and repeat them."""

    options_type = PasskeyOptions
    options: PasskeyOptions
    is_generated = True
    sample_options: ClassVar[Mapping[str, object]] = {"length": 256}

    @property
    def signature(self) -> Signature:
        return Signature(
            vocab_size=257,
            max_length=max(self.options.length, self.options.longest),
            num_sequences=2,
            track="recall",
            num_asked=DIGITS,
        )

    @property
    def card(self) -> TaskCard:
        return TaskCard(
            name="passkey",
            version=1,
            title="Passkey",
            question="Which five digits were hidden in the text?",
            sizes={"train": 40_000, "valid": 1_000, "test": 1_000},
            splits="a seeded stream each, and keys of its own: 80/10/10 % of all",
            source="generated, with the words of epfml/landmark-attention (run_test.py)",
            licence="Apache-2.0",
            citation="Mohtashami & Jaggi (2023), arXiv:2305.16300",
        )

    @property
    def tested_lengths(self) -> tuple[int, ...]:
        return doubled(self.options.length, self.options.longest, shortest=FIXED)

    def at_length(self, length: int) -> Task:
        return self.changed(length=length)

    def generate(self, sizes: Mapping[str, int]) -> Iterator[tuple[str, Chunk]]:
        return generate(self, sizes, self._draw)

    def _draw(self, rng: np.random.Generator, number: int, split: str) -> Questions:
        keys = rng.choice(self._keys(split), number)
        before = rng.integers(0, self._room + 1, number)
        texts = [self._text(*each) for each in zip(keys.tolist(), before.tolist(), strict=True)]
        whole = np.stack(texts).astype(np.int64)
        read, asked = whole[:, :-1], np.full((number, self.options.length), NOTHING, np.int64)
        asked[:, -DIGITS:] = whole[:, -DIGITS:]
        return Questions(read, asked, tenths(before, self._room + 1))

    @property
    def _room(self) -> int:
        """How many bytes of filler there are."""
        return self.options.length - FIXED

    def _keys(self, split: str) -> np.ndarray:
        """Return the keys of a split, in random order."""
        count = 10**DIGITS
        order = numpy_rng(self.card.version, "passkey keys").permutation(count)
        first, end = (round(share * count) for share in SHARES[split])
        return order[first:end]

    def _text(self, number: int, before: int) -> Bytes:
        """Write a text with so many bytes before the key."""
        key, filler = f"{number:0{DIGITS}}", FILLER * (1 + self._room // len(FILLER))
        parts = filler[:before], NEEDLE, filler[: self._room - before], QUESTION
        return np.frombuffer("".join(parts).format(key=key).encode(), np.uint8)

    def describe(self, sequences: Sequence[DiskTokens], label: int) -> str:
        read, asked = (sequence.tobytes() for sequence in sequences)
        return f"{read.decode()}\n-> {asked[-DIGITS:].decode()}"

"""Selective copying: repeat the data tokens of a noisy sequence, in their order.

    read     . c . . a . . . b .  ? ? ?
    asked    . . . . . . . . . .  c a b           (a dot in the first row is noise)

The data stands at random places, so a fixed filter over positions cannot find it: what is kept must
depend on the token. At the end as many markers follow as there is data, and at each of them the
next data token is asked.

Paper:  Gu & Dao (2023), https://arxiv.org/abs/2312.00752, sections 3.1 and 4.1; rules as in
        state-spaces/s4, src/dataloaders/datasets/copying.py, with variable=True
Choice: noise is token 0, data 1 ... V - 2, the marker V - 1; so a vocabulary of 16 has 14 letters.
Choice: the length counts all that is read, data, noise and markers; there it counts noise alone.
Choice: 20,000 sequences of 4,096 tokens; the paper draws new ones at every step.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

import numpy as np
from pydantic import Field, model_validator

from longarena.data.dataset import Chunk, DiskTokens
from longarena.options import Options
from longarena.tasks.base import Task, TaskCard
from longarena.tasks.questions import Questions, distinct, generate, letters, write_rows
from longarena.tasks.signature import Signature

NOISE = 0


class SelectiveCopyOptions(Options):
    """How many data tokens are kept over which length."""

    length: int = Field(4096, ge=2)
    kept: int = Field(16, ge=1)
    vocabulary: int = Field(16, ge=3, le=256)

    @model_validator(mode="after")
    def _everything_has_room(self) -> "SelectiveCopyOptions":
        if 2 * self.kept > self.length:
            raise ValueError(
                f"{self.kept} data tokens and their questions need a length of {2 * self.kept}"
            )
        return self


class SelectiveCopy(Task):
    """Repeat what is not noise."""

    options_type = SelectiveCopyOptions
    options: SelectiveCopyOptions
    is_generated = True
    sample_options: ClassVar[Mapping[str, object]] = {"length": 20, "kept": 4}

    @property
    def signature(self) -> Signature:
        return Signature(
            vocab_size=self.options.vocabulary + 1,
            max_length=self.options.length,
            num_sequences=2,
            track="recall",
            num_asked=self.options.kept,
        )

    @property
    def card(self) -> TaskCard:
        return TaskCard(
            name="selective-copy",
            version=1,
            title="Selective Copying",
            question="Which tokens were not noise, in their order?",
            sizes={"train": 20_000, "valid": 1_000, "test": 1_000},
            splits="a seeded stream each",
            source="generated, by the rules of state-spaces/s4 (copying.py, variable)",
            licence="Apache-2.0",
            citation="Gu & Dao (2023), arXiv:2312.00752",
        )

    def generate(self, sizes: Mapping[str, int]) -> Iterator[tuple[str, Chunk]]:
        return generate(self, sizes, self._draw)

    def _draw(self, rng: np.random.Generator, number: int, split: str) -> Questions:
        length, kept, marker = self.options.length, self.options.kept, self.options.vocabulary - 1
        places = np.sort(distinct(rng, number, kept, 0, length - kept), axis=1)
        data = rng.integers(1, marker, (number, kept))
        read = np.full((number, length), NOISE, np.int64)
        np.put_along_axis(read, places, data, axis=1)
        read[:, -kept:] = marker
        asked = np.zeros_like(read)
        asked[:, -kept:] = data
        return Questions(read, asked, np.zeros(number, np.int64))

    def describe(self, sequences: Sequence[DiskTokens], label: int) -> str:
        names = letters(self.options.vocabulary) | {NOISE: ".", self.options.vocabulary - 1: "?"}
        return write_rows(sequences, names.__getitem__)

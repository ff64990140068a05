"""Induction: name what followed the special token when it came before.

    read     c a * d b b a c *
    asked    . . . . . . . . d

One special token stands somewhere in a sequence of random ones, and comes again at the end: what
followed it must be named. An attention of two layers can do it with an induction head: one layer
tells each token what came before it, the next looks for the token that followed the special one.
A model that has learnt the rule, and not the positions, also follows it at lengths that it was
never trained on; a run is therefore tested at all powers of two from 64 to `longest`.

Paper:  Olsson et al. (2022), https://arxiv.org/abs/2209.11895; the task of Fu et al. (2023),
        https://arxiv.org/abs/2212.14052 (HazyResearch/safari, src/dataloaders/synthetics.py), with
        the vocabulary and the length of Gu & Dao (2023), https://arxiv.org/abs/2312.00752
Choice: the special token is token 0 and one of the vocabulary; the others are 1 ... V - 1.
Choice: it is asked at the end only. There, training also asks for the next token everywhere, which
        cannot be known.
Choice: the length counts all that is read, the last special token too.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

import numpy as np
from pydantic import Field

from longarena.data.dataset import Chunk, DiskTokens
from longarena.options import Options
from longarena.tasks.base import Task, TaskCard
from longarena.tasks.questions import Questions, doubled, generate, letters, tenths, write_rows
from longarena.tasks.signature import Signature

SPECIAL = 0


class InductionOptions(Options):
    """How long the sequences of training are, and the longest that a model is tested on."""

    length: int = Field(256, ge=3)
    vocabulary: int = Field(16, ge=2, le=256)
    longest: int = Field(4096, ge=3)


class Induction(Task):
    """Name the successor of the special token."""

    options_type = InductionOptions
    options: InductionOptions
    is_generated = True
    sample_options: ClassVar[Mapping[str, object]] = {"length": 20}

    @property
    def signature(self) -> Signature:
        return Signature(
            vocab_size=self.options.vocabulary + 1,
            max_length=max(self.options.length, self.options.longest),
            num_sequences=2,
            track="recall",
            num_asked=1,
        )

    @property
    def card(self) -> TaskCard:
        return TaskCard(
            name="induction",
            version=1,
            title="Induction Heads",
            question="What followed the special token?",
            sizes={"train": 100_000, "valid": 3_000, "test": 3_000},
            splits="a seeded stream each",
            source="generated, by the rules of HazyResearch/safari (synthetics.py)",
            licence="Apache-2.0",
            citation="Fu et al. (2023), arXiv:2212.14052; lengths: arXiv:2312.00752",
        )

    @property
    def tested_lengths(self) -> tuple[int, ...]:
        return doubled(self.options.length, self.options.longest)

    def at_length(self, length: int) -> Task:
        return self.changed(length=length)

    def generate(self, sizes: Mapping[str, int]) -> Iterator[tuple[str, Chunk]]:
        return generate(self, sizes, self._draw)

    def _draw(self, rng: np.random.Generator, number: int, split: str) -> Questions:
        length, rows = self.options.length, np.arange(number)
        read = rng.integers(1, self.options.vocabulary, (number, length))
        places = rng.integers(0, length - 2, number)
        read[rows, places] = read[:, -1] = SPECIAL
        asked = np.zeros_like(read)
        asked[:, -1] = read[rows, places + 1]
        return Questions(read, asked, tenths(places, length - 2))

    def describe(self, sequences: Sequence[DiskTokens], label: int) -> str:
        names = letters(self.options.vocabulary) | {SPECIAL: "*"}
        return write_rows(sequences, names.__getitem__)

"""Recall: name the value that came with a key. Multi-query associative recall (MQAR).

    read     4 17  9 23    9  5  4  8
    asked    .  .  .  .   23  . 17  .

Pairs of a key and its value come first. Then each key comes once more, at a random even distance
behind the pairs, and there its value is asked. Between the keys stand random tokens.

    keys     1 ... V/2 - 1        values   V/2 ... V - 1        a key's slot k has p ~ k^(a - 1)

The small power a = 0.01 puts most keys shortly behind the pairs, as words repeat in a text. Who
answers right keeps all pairs in mind: the more pairs, the more state it takes.

Paper:  Arora et al. (2023), https://arxiv.org/abs/2312.04927; rules as in HazyResearch/zoology,
        zoology/data/multiquery_ar.py
Choice: the paper's hardest setting is the default: 64 pairs in 512 tokens; its others are 4 in 64,
        8 in 128 and 16 in 256.
Choice: the keys of an example are all different, its values too, and so are their slots: each key
        in turn takes one of the slots that are left, with their probabilities.
Choice: the filler between keys is drawn from the whole vocabulary, as there (`random_non_queries`):
        it may look like a key, but nothing is asked then.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

import numpy as np
from pydantic import Field, model_validator

from longarena.data.dataset import Chunk, DiskTokens
from longarena.options import Options
from longarena.tasks.base import Task, TaskCard
from longarena.tasks.questions import Questions, distinct, generate, write_rows
from longarena.tasks.signature import Signature


class RecallOptions(Options):
    """How much is to be kept, for how long; `power` is the exponent a of the distances."""

    length: int = Field(512, ge=4, multiple_of=2)
    pairs: int = Field(64, ge=1)
    vocabulary: int = Field(8192, ge=4, le=65536, multiple_of=2)
    power: float = Field(0.01, gt=0)

    @model_validator(mode="after")
    def _everything_has_room(self) -> "RecallOptions":
        if 4 * self.pairs > self.length:
            raise ValueError(
                f"{self.pairs} pairs and their questions need a length of {4 * self.pairs}"
            )
        if self.pairs >= self.vocabulary // 2:
            raise ValueError(
                f"{self.pairs} different keys need a vocabulary of {2 * self.pairs + 2}"
            )
        return self


class Recall(Task):
    """Name the values of keys, each of which was seen once before."""

    options_type = RecallOptions
    options: RecallOptions
    is_generated = True
    sample_options: ClassVar[Mapping[str, object]] = {"length": 16, "pairs": 3, "vocabulary": 64}

    @property
    def signature(self) -> Signature:
        return Signature(
            vocab_size=self.options.vocabulary + 1,
            max_length=self.options.length,
            num_sequences=2,
            track="recall",
            num_asked=self.options.pairs,
        )

    @property
    def card(self) -> TaskCard:
        return TaskCard(
            name="recall",
            version=1,
            title="Recall",
            question="Which value came with this key?",
            sizes={"train": 100_000, "valid": 3_000, "test": 3_000},
            splits="a seeded stream each",
            source="generated, by the rules of HazyResearch/zoology (multiquery_ar.py)",
            licence="Apache-2.0",
            citation="Arora et al. (2023), arXiv:2312.04927",
        )

    def generate(self, sizes: Mapping[str, int]) -> Iterator[tuple[str, Chunk]]:
        return generate(self, sizes, self._draw)

    def _draw(self, rng: np.random.Generator, number: int, split: str) -> Questions:
        length, pairs, vocabulary = self.options.length, self.options.pairs, self.options.vocabulary
        keys = distinct(rng, number, pairs, 1, vocabulary // 2)
        values = distinct(rng, number, pairs, vocabulary // 2, vocabulary)
        places = 2 * pairs + 2 * self._slots(rng, number)
        read = rng.integers(0, vocabulary, (number, length))
        read[:, 0 : 2 * pairs : 2], read[:, 1 : 2 * pairs : 2] = keys, values
        np.put_along_axis(read, places, keys, axis=1)
        asked = np.zeros_like(read)
        np.put_along_axis(asked, places, values, axis=1)
        return Questions(read, asked, np.zeros(number, np.int64))

    def _slots(self, rng: np.random.Generator, number: int) -> np.ndarray:
        """Draw a slot behind the pairs for each key, none twice.

        The slots race, each with its probability as its rate; the order in which they arrive is
        that of drawing one after the other without putting any back.
        """
        num_slots = (self.options.length - 2 * self.options.pairs) // 2
        rates = np.arange(1, num_slots + 1) ** (self.options.power - 1)
        arrivals = rng.standard_exponential((number, num_slots)) / rates
        return arrivals.argsort(axis=1)[:, : self.options.pairs]

    def describe(self, sequences: Sequence[DiskTokens], label: int) -> str:
        return write_rows(sequences)

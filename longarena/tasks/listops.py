"""ListOps: evaluate a nested expression of list operations, one token at a time.

    [MAX 4 [MIN 2 9 ] 0 [SM 5 6 ] ]  ->  4        (SM: the sum, modulo ten)

The answer is one of ten digits. It cannot be read off locally: a token matters only through
all the brackets around it, which may be thousands of positions apart.

Paper:  Nangia & Bowman (2018), https://arxiv.org/abs/1804.06028; lengths as in Tay et al. (2021)
Choice: the rules are those of the official generator, 500 < length < 2000 written as 501 to 1999.
Choice: the official generator is not seeded; here the data is the same on all machines.
Choice: one fixed vocabulary; the parentheses of the released files are left out, as in its reader.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
from pydantic import Field, model_validator

from longarena.data.ragged import Bytes, Chunk
from longarena.errors import UserError
from longarena.options import Options
from longarena.seeding import numpy_rng
from longarena.tasks.base import Task, TaskCard
from longarena.tasks.generate.listops import draw_accepted

TOKENS = ("]", "[MIN", "[MAX", "[MED", "[SM", *"0123456789")
CHUNK = 500


class ListOpsOptions(Options):
    """Which expressions are accepted; the defaults are the official task."""

    min_length: int = Field(501, ge=1)
    max_length: int = Field(1999, ge=1)
    max_depth: int = Field(10, ge=1, le=50)

    @model_validator(mode="after")
    def _some_length_is_possible(self) -> "ListOpsOptions":
        if self.min_length > self.max_length:
            raise ValueError(f"min_length {self.min_length} is above max_length {self.max_length}")
        return self


class ListOps(Task):
    """Ten-way classification of expressions of 501 to 1999 tokens."""

    options_type = ListOpsOptions
    options: ListOpsOptions

    @property
    def card(self) -> TaskCard:
        return TaskCard(
            name="listops",
            version=1,
            title="Long ListOps",
            question="What is the value of this expression?",
            num_classes=10,
            max_length=self.options.max_length,
            vocab_size=len(TOKENS) + 1,
            sizes={"train": 96_000, "valid": 2_000, "test": 2_000},
            splits="distinct expressions of one seeded stream: train, then valid, then test",
            source="generated",
            licence="Apache-2.0",
            citation="Nangia & Bowman (2018), arXiv:1804.06028; lengths: arXiv:2011.04006",
        )

    def examples(
        self, sizes: Mapping[str, int], source: Path | None
    ) -> Iterator[tuple[str, Chunk]]:
        if source is not None:
            raise UserError("listops is generated; leave --source out")
        drawn = self._distinct()
        for split, size in sizes.items():
            for start in range(0, size, CHUNK):
                rows = [next(drawn) for _ in range(min(CHUNK, size - start))]
                yield split, _chunk(rows)

    def _distinct(self) -> Iterator[tuple[bytes, int]]:
        """Yield endlessly many expressions and their values, none of them twice."""
        rng = numpy_rng(self.card.version, "listops")
        tokens = np.empty(self.options.max_length, np.uint8)
        seen: set[bytes] = set()
        repeats = 0
        while True:
            length, value = draw_accepted(
                rng, self.options.max_depth, self.options.min_length, tokens
            )
            expression = tokens[:length].tobytes()
            repeats = repeats + 1 if expression in seen else 0
            if length == 0 or repeats > 1000:
                raise UserError(
                    f"there are too few expressions under {self.options!r} "
                    f"(found {len(seen)}); widen the lengths, or prepare less with --size"
                )
            if not repeats:
                seen.add(expression)
                yield expression, int(value)

    def describe(self, tokens: Bytes, label: int) -> str:
        return f"{' '.join(TOKENS[token] for token in tokens)}  ->  {label}"


def _chunk(rows: list[tuple[bytes, int]]) -> Chunk:
    return Chunk(
        tokens=np.frombuffer(b"".join(expression for expression, _ in rows), np.uint8),
        lengths=np.array([len(expression) for expression, _ in rows], np.int64),
        labels=np.array([value for _, value in rows], np.int64),
    )

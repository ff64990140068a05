"""ListOps: evaluate a nested expression of list operations, one token at a time.

    [MAX 4 [MIN 2 9 ] 0 [SM 5 6 ] ]  ->  4        (SM: the sum, modulo ten)

The answer is one of ten digits. It cannot be read off locally: a token matters only through
all the brackets around it, which may be thousands of positions apart.

Paper:  Nangia & Bowman (2018), https://arxiv.org/abs/1804.06028; lengths as in Tay et al. (2021)
Choice: the rules are those of the official generator, 500 < length < 2000 written as 501 to 1999.
Choice: the official generator is not seeded; here the data is the same on all machines.
Choice: one fixed vocabulary; the parentheses of the released files are left out, as in its reader.
Choice: the released expressions are the variant `release`. They follow the same rules but differ
        from the generated ones, and nobody should need 8 GB for what takes a minute.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import IO, ClassVar

import numpy as np
from pydantic import Field, model_validator

from longarena.data.archive import Source
from longarena.data.dataset import Chunk, DiskTokens
from longarena.errors import UserError
from longarena.options import Options
from longarena.runtime import held_back
from longarena.seeding import numpy_rng
from longarena.tasks import release
from longarena.tasks.base import Task, TaskCard
from longarena.tasks.expressions import TOKENS, UNKNOWN, draw_tree, encode
from longarena.tasks.raw_input import ExpressionInput
from longarena.tasks.signature import Signature
from longarena.tasks.splits import CHUNK, Example, chunks

RELEASED = {"basic_train.tsv": "train", "basic_val.tsv": "valid", "basic_test.tsv": "test"}


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
    is_generated = True
    raw_input = ExpressionInput()
    sample_options: ClassVar[Mapping[str, object]] = {
        "min_length": 14,
        "max_length": 26,
        "max_depth": 4,
    }
    download = release.DOWNLOAD

    @property
    def signature(self) -> Signature:
        return Signature(
            vocab_size=len(TOKENS) + 1, max_length=self.options.max_length, num_classes=10
        )

    @property
    def card(self) -> TaskCard:
        return TaskCard(
            name="listops",
            version=1,
            title="ListOps",
            question="What is the value of this expression?",
            sizes={"train": 96_000, "valid": 2_000, "test": 2_000},
            splits="distinct expressions of one seeded stream: train, then valid, then test",
            source="generated; variant release: basic_{train,val,test}.tsv of the LRA release",
            licence="Apache-2.0",
            citation="Nangia & Bowman (2018), arXiv:1804.06028; lengths: arXiv:2011.04006",
        )

    def generate(self, sizes: Mapping[str, int]) -> Iterator[tuple[str, Chunk]]:
        drawn = self._distinct()
        for split, size in sizes.items():
            for start in range(0, size, CHUNK):
                yield from chunks(split, list(islice(drawn, min(CHUNK, size - start))))

    def _distinct(self) -> Iterator[Example]:
        """Yield endlessly many expressions and their values, none of them twice."""
        # not at the top, so that only those who generate data wait for numba
        from longarena.tasks.generate.listops import draw_accepted  # noqa: PLC0415

        rng = numpy_rng(self.card.version, "listops")
        tokens = np.empty(self.options.max_length, np.uint8)
        seen: set[bytes] = set()
        repeats = 0
        while True:
            with held_back():
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
                yield (expression,), int(value)

    def read(self, source: Source) -> Iterator[tuple[str, Chunk]]:
        if self.options != ListOpsOptions():
            raise UserError(
                f"{self.options!r} shapes what is generated; a source comes as it is: "
                "leave out --set or --source"
            )
        for split, table in release.read_tables(source, RELEASED, self._parse).items():
            yield from chunks(split, table)

    def _parse(self, name: str, file: IO[bytes]) -> list[Example]:
        lines = release.rows(name, file, num_columns=2)
        if [columns for _, columns in islice(lines, 1)] != [[b"Source", b"Target"]]:
            raise UserError(f"{name} does not begin with the columns Source and Target")
        return [self._example(place, *columns) for place, columns in lines]

    def _example(self, place: str, text: bytes, answer: bytes) -> Example:
        tokens = encode(text)
        if UNKNOWN in tokens or not 0 < len(tokens) <= self.options.max_length:
            raise UserError(
                f"{place}: this is not an expression of 1 to {self.options.max_length} tokens "
                f"(known: {' '.join(TOKENS)})"
            )
        if len(answer) != 1 or not answer.isdigit():
            raise UserError(
                f"{place}: the answer {answer.decode(errors='replace')!r} is not a digit"
            )
        return (tokens,), int(answer)

    def describe(self, sequences: Sequence[DiskTokens], label: int) -> str:
        return draw_tree(sequences[0])

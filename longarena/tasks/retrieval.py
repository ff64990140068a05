"""Retrieval: say whether one of two papers cites the other, each read by itself, byte by byte.

    label <TAB> id 1 <TAB> id 2 <TAB> text 1 <TAB> text 2

The model compresses each document to one vector without seeing the other; the answer comes from
the two vectors only. So it must learn what a paper is about. Tokens can be byte pairs or words
(`tokens.py`).

Data:   ACL Anthology Network pairs of Tay et al. (2021), https://arxiv.org/abs/2011.04006
Choice: the first `max_length` bytes of each document, 4,000 as in the release.
"""

from collections.abc import Iterator, Sequence
from typing import IO

from pydantic import Field

from longarena.data.archive import Source
from longarena.data.dataset import Chunk, DiskTokens
from longarena.errors import UserError
from longarena.tasks import release
from longarena.tasks.base import TaskCard
from longarena.tasks.signature import Signature
from longarena.tasks.splits import Example
from longarena.tasks.tokens import NAMES, ReadOptions, TokenTask

FILES = {
    "new_aan_pairs.train.tsv": "train",
    "new_aan_pairs.eval.tsv": "valid",
    "new_aan_pairs.test.tsv": "test",
}
LABELS = {b"0": 0, b"0.0": 0, b"1": 1, b"1.0": 1}
SHOWN = 600


class RetrievalOptions(ReadOptions):
    """How much of each document is read, and what its tokens are."""

    max_length: int = Field(4000, ge=1)


class Retrieval(TokenTask):
    """Two-way classification of pairs of papers."""

    options_type = RetrievalOptions
    options: RetrievalOptions
    columns = ("text1", "text2")
    class_names = ("no citation", "citation")
    download = release.DOWNLOAD

    @property
    def signature(self) -> Signature:
        return Signature(
            vocab_size=self.options.vocab_size,
            max_length=self.options.max_length,
            num_sequences=2,
            num_classes=2,
        )

    @property
    def card(self) -> TaskCard:
        return TaskCard(
            name="retrieval",
            version=1,
            title=f"Retrieval (AAN, {NAMES[self.options.tokens]})",
            question="Does one of these papers cite the other?",
            sizes={"train": 147_086, "valid": 18_090, "test": 17_437},
            splits="official: new_aan_pairs.{train,eval,test}.tsv",
            source="lra_release.gz",
            licence="research use, by the terms of the ACL Anthology Network",
            citation="Radev et al. (2013), doi:10.1007/s10579-012-9211-2; pairs: arXiv:2011.04006",
        )

    def read(self, source: Source) -> Iterator[tuple[str, Chunk | bytes]]:
        yield from self.packed(release.read_tables(source, FILES, self._parse))

    def _parse(self, name: str, file: IO[bytes]) -> list[Example]:
        # a paper is in many pairs; kept once, the official 1.5 GB of pairs fit in memory
        papers: dict[bytes, bytes] = {}
        pairs: list[Example] = []
        for place, (label, _, _, *texts) in release.rows(name, file, num_columns=5):
            if label not in LABELS:
                raise UserError(
                    f"{place}: the label {label.decode(errors='replace')!r} is not 0 or 1"
                )
            first, second = (text[: self.options.bytes_read] for text in texts)
            pair = papers.setdefault(first, first), papers.setdefault(second, second)
            pairs.append((pair, LABELS[label]))
        return pairs

    def describe(self, sequences: Sequence[DiskTokens], label: int) -> str:
        link = ("no citation between them", "one cites the other")[label]
        return "\n".join([link, *map(self._beginning, sequences)])

    def _beginning(self, document: DiskTokens) -> str:
        is_whole = len(document) <= SHOWN
        more = "" if is_whole else f" ... ({len(document)} {self.options.unit})"
        return f"- {self.write(document[:SHOWN])}{more}"

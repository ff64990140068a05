"""A dataset of sentences and their translations: tokens, and beside them the sentences themselves.

    tokeniser.json                        how tokens become text
    test.source.txt  test.target.txt      the lines of the split's two files, as they were

The label of an example is the number of its line. So its texts are found wherever the example has
gone: into a sample, a smaller version or a batch. A translation is scored against the line, not
against what is left of it in tokens.
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from longarena.data.dataset import Dataset, Integers, Split
from longarena.data.tokens import TOKENISER, Tokeniser, read_tokeniser

SIDES = ("source", "target")


def text_name(split: str, side: str) -> str:
    """Name the file with the lines of one side of a split.

    >>> text_name("test", "target")
    'test.target.txt'
    """
    return f"{split}.{side}.txt"


@dataclass(frozen=True)
class Parallel(Split):
    """Pairs of sentences; sequence 0 of an example is the source, 1 the target."""

    source_file: Path
    target_file: Path
    tokeniser: Tokeniser

    @cached_property
    def sources(self) -> list[str]:
        """The sentence to be translated of each example."""
        return _lines(self.source_file, self.labels)

    @cached_property
    def references(self) -> list[str]:
        """The translation of each example."""
        return _lines(self.target_file, self.labels)

    def chosen(self, examples: Integers) -> "Parallel":
        """Hold some examples in memory, in their order."""
        return _with_texts(
            super().chosen(examples), self.source_file, self.target_file, self.tokeniser
        )


class ParallelDataset(Dataset):
    """An opened dataset of pairs of sentences."""

    @cached_property
    def tokeniser(self) -> Tokeniser:
        """What made the tokens; it was trained on the training split alone."""
        return read_tokeniser((self.folder / TOKENISER).read_text(encoding="utf-8"))

    def split(self, name: str) -> Parallel:
        """Map one split into memory; its texts are read when they are asked for."""
        source, target = (self.folder / text_name(name, side) for side in SIDES)
        return _with_texts(super().split(name), source, target, self.tokeniser)


def _with_texts(split: Split, source: Path, target: Path, tokeniser: Tokeniser) -> Parallel:
    parts = split.tokens, split.offsets, split.labels, split.num_sequences
    return Parallel(*parts, source, target, tokeniser)


def _lines(path: Path, numbers: Integers) -> list[str]:
    # "\n" alone ends a line: other line ends of Unicode stand inside sentences
    lines = path.read_bytes().decode().split("\n")
    return [lines[number] for number in numbers.tolist()]

"""Parallel text: line i of one file is the translation of line i of another.

    train.de train.en    valid.de valid.en    test.de test.en      (valid may be val or dev)

The files of a source are found by their names, in whatever folder they lie. Between the split and
the language may stand what Moses and fairseq put there, as in `train.tok.clean.bpe.32000.de`, and
`.gz` may follow. Of two files for one place the one in fewer folders counts.

Choice: only a line feed ends a line, and the space around a line is taken off. The other line ends
        of Unicode occur inside sentences; to split there would shift every line that follows.
"""

import codecs
import gzip
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from longarena.data.archive import Source
from longarena.errors import UserError
from longarena.tasks.base import SPLITS

Pair = tuple[str, str]
Languages = tuple[str, str]

NAMES = {"train": "train", "valid": "valid", "val": "valid", "dev": "valid", "test": "test"}
JOINT = re.compile(r"@@(?: |$)")
BETWEEN = r"(?:\.(?:tok|clean|bpe|lc|norm|raw|true|\d{3,}|[a-z]{2,3}-[a-z]{2,3}))*"


@dataclass(frozen=True)
class Sentences:
    """A file of sentences, one in a line."""

    name: str
    content: bytes

    @property
    def depth(self) -> int:
        """The number of folders around it."""
        return self.name.count("/")

    def lines(self) -> list[str]:
        """Return the sentences without the space around them; refuse what is no UTF-8."""
        is_packed = self.name.endswith(".gz")
        content = gzip.decompress(self.content) if is_packed else self.content
        content = content.removeprefix(codecs.BOM_UTF8)
        try:
            text = content.decode()
        except UnicodeDecodeError as error:
            number = content.count(b"\n", 0, error.start) + 1
            raise UserError(
                f"{self.name}, line {number:,}: not UTF-8 ({error.reason}); convert the file, "
                "for example with iconv -f latin1 -t utf-8"
            ) from None
        if not text.strip():
            raise UserError(f"{self.name} is empty; it should have a sentence in every line")
        return [line.strip() for line in text.removesuffix("\n").split("\n")]


def pairs_of(source: Sentences, target: Sentences) -> list[Pair]:
    """Read two files line by line."""
    left, right = source.lines(), target.lines()
    if len(left) != len(right):
        raise UserError(
            f"{source.name} has {len(left):,} lines and {target.name} has {len(right):,}; line i "
            "of one must be the translation of line i of the other"
        )
    return list(zip(left, right, strict=True))


def read_splits(
    source: Source, languages: Languages, names: Mapping[str, str] = NAMES
) -> dict[str, list[Pair]]:
    """Read the pairs of every split from a source; `names` says which names mean which split."""
    found = _find(source, languages, names)
    for split in SPLITS:
        for language in languages:
            if (split, language) not in found:
                raise UserError(f"{source.path} has no {split}.{language}{_remedy(languages)}")
    return {split: pairs_of(*(found[split, each] for each in languages)) for split in SPLITS}


def joined(splits: Mapping[str, list[Pair]]) -> dict[str, list[Pair]]:
    """Join the byte pairs of subword-nmt to words again, where text was cut into them.

    >>> joined({"test": [("Res@@ um@@ ption of the session", "Wieder@@ aufnahme")]})
    {'test': [('Resumption of the session', 'Wiederaufnahme')]}
    """
    return {
        split: [(JOINT.sub("", left), JOINT.sub("", right)) for left, right in pairs]
        for split, pairs in splits.items()
    }


def _find(
    source: Source, languages: Languages, names: Mapping[str, str]
) -> dict[tuple[str, str], Sentences]:
    """Return the file of each split and language."""
    pattern = re.compile(
        rf"(?:.*/)?({_any(names)}){BETWEEN}\.({_any(languages)})(?:\.gz)?", re.DOTALL
    )
    candidates: dict[tuple[str, str], list[Sentences]] = {}
    for name, file in source.members(lambda name: pattern.fullmatch(name) is not None):
        if match := pattern.fullmatch(name):
            of_place = candidates.setdefault((names[match[1]], match[2]), [])
            if not of_place or name.count("/") <= of_place[0].depth:
                # what lies deeper can no longer count
                of_place[:] = [each for each in of_place if each.depth == name.count("/")]
                of_place.append(Sentences(name, file.read()))
    for (split, language), files in candidates.items():
        if len(files) > 1:
            first, second = sorted(file.name for file in files)[:2]
            raise UserError(
                f"{source.path} has both {first} and {second} for {split}.{language}; "
                "give a folder with one of them"
            )
    return {place: files[0] for place, files in candidates.items()}


def _any(words: Iterable[str]) -> str:
    return "|".join(map(re.escape, words))


def _remedy(languages: Languages) -> str:
    both = " and ".join(f".{language}" for language in languages)
    return f"; it should hold train, valid (or val, dev) and test, each as {both}"

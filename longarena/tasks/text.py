"""Text: say whether a film review is positive, read as up to 4,096 single bytes or other tokens.

    aclImdb/{train,test}/{pos,neg}/<id>_<rating>.txt      ratings: neg 1 to 4, pos 7 to 10

A model must compose words, and what they mean together, from these bytes. To ask what that costs,
tokens can be byte pairs or words (`tokens.py`).

Data:   Maas et al. (2011), https://ai.stanford.edu/~amaas/data/sentiment/
Choice: the first `max_length` bytes, markup and all, as in the release; 4,096 instead of its
        1,000 to 4,000, the length that the ports use.
Choice: the release validates on the test set. Here a tenth of the training reviews is held out,
        1,250 of each class; the test set is the official one.
"""

import re
from collections.abc import Iterator, Sequence

import numpy as np
from pydantic import Field

from longarena.data.archive import Source
from longarena.data.dataset import Chunk, DiskTokens
from longarena.data.download import Download
from longarena.errors import UserError
from longarena.seeding import numpy_rng
from longarena.tasks.base import TaskCard
from longarena.tasks.signature import Signature
from longarena.tasks.splits import Example, held_out
from longarena.tasks.tokens import NAMES, ReadOptions, TokenTask

LABELS = ("neg", "pos")
CLASSES = ("negative", "positive")
NAME = re.compile(r"(?:.*/)?(train|test)/(neg|pos)/([^./][^/]*)\.txt")
RATED = re.compile(r"([0-9]{1,9})_([0-9]{1,2})")
NEUTRAL = (5, 6)  # ratings that were left out of the set


class TextOptions(ReadOptions):
    """How much of a review is read, and what its tokens are."""

    max_length: int = Field(4096, ge=1)


class Text(TokenTask):
    """Two-way classification of film reviews."""

    options_type = TextOptions
    options: TextOptions
    class_names = CLASSES
    download = Download(
        "https://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz",
        "md5:7c2ac02c03563afcf9b574c7e56c153a",
    )

    @property
    def signature(self) -> Signature:
        options = self.options
        return Signature(
            vocab_size=options.vocab_size, max_length=options.max_length, num_classes=2
        )

    @property
    def card(self) -> TaskCard:
        return TaskCard(
            name="text",
            version=1,
            title=f"Text (IMDb, {NAMES[self.options.tokens]})",
            question="Is this review positive?",
            sizes={"train": 22_500, "valid": 2_500, "test": 25_000},
            splits="official test; valid: a seeded tenth of each class of the official train",
            source="aclImdb_v1.tar.gz",
            licence="research use, by its authors' terms",
            citation="Maas et al. (2011), https://aclanthology.org/P11-1015",
        )

    def read(self, source: Source) -> Iterator[tuple[str, Chunk | bytes]]:
        reviews = self._reviews(source)
        labels = np.array([label for _, label in reviews["train"]], np.int64)
        valid = held_out(labels, numpy_rng(self.card.version, "text", "valid"))
        parts = {"train": np.flatnonzero(~valid), "valid": np.flatnonzero(valid)}
        of_train = {name: [reviews["train"][i] for i in at] for name, at in parts.items()}
        yield from self.packed(of_train | {"test": reviews["test"]})

    def _reviews(self, source: Source) -> dict[str, list[Example]]:
        """Read all reviews, sorted by class and number: archives come in any order."""
        found: dict[tuple[str, int], dict[int, bytes]] = {}
        for name, file in source.members(lambda name: NAME.fullmatch(name) is not None):
            split, label, number = _meaning(name)
            of_class = found.setdefault((split, label), {})
            of_class[number] = file.read(self.options.bytes_read)
        for split in ("train", "test"):
            for label, word in enumerate(LABELS):
                if (split, label) not in found:
                    raise UserError(
                        f"{source.path} has no {split}/{word}/<id>_<rating>.txt; "
                        "it should be aclImdb_v1.tar.gz or its folder"
                    )
        return {
            split: [
                ((text,), label)
                for label in range(len(LABELS))
                for _, text in sorted(found[split, label].items())
            ]
            for split in ("train", "test")
        }

    def describe(self, sequences: Sequence[DiskTokens], label: int) -> str:
        return f"{CLASSES[label]}:\n{self.write(sequences[0])}"


def _meaning(name: str) -> tuple[str, int, int]:
    """Read split, label and number of a review from its name."""
    found = NAME.fullmatch(name)
    rated = RATED.fullmatch(found[3]) if found else None
    if found is None or rated is None:
        raise UserError(f"{name} is not named <id>_<rating>.txt")
    label, rating = LABELS.index(found[2]), int(rated[2])
    if rating in NEUTRAL or label != (rating > NEUTRAL[1]):
        raise UserError(f"{name}: a review with rating {rating} does not belong in {found[2]}")
    return found[1], label, int(rated[1])

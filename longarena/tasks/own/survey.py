"""The first reading of a user's data: classes, copies, and which example goes into which split.

Where the data names no splits, a tenth of each class goes to the test split and a tenth to
validation; where only one of the two is missing, it is a tenth of each class of the training part.

    order      of the examples of a class: by a digest of what they hold, so it is the same for
               every order of the rows, and copies of an example stand side by side
    held out   the first tenth of that order, and with the last of them all its copies

Choice: by digest, because a shuffled split tears copies apart, which then leak into the test.
"""

from array import array
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from longarena.data.dataset import Integers
from longarena.errors import UserError
from longarena.tasks.base import SPLITS
from longarena.tasks.own.item import Item
from longarena.tasks.splits import VALID_SHARE

MAX_CLASSES = 1000
SMALLEST_CLASS = 3  # of which something can be held out
NO_CLASSES = "different values; is it the right column? Labels are classes"
NUM_MOMENTS = 5
UNSPLIT = -1

Digests = NDArray[np.uint64]


@dataclass(frozen=True)
class Survey:
    """What the examples of some data are, in their order: class, split (by number), digest.

    `num_empty` examples had nothing to read and are left out everywhere. `moments` has a row for
    each example: number, sum, sum of squares, least and greatest of its values.
    """

    classes: tuple[str, ...]
    labels: Integers
    splits: Integers
    digests: Digests
    moments: NDArray[np.float64]
    num_empty: int
    rule: str

    def counts(self) -> dict[str, tuple[int, ...]]:
        """Count the examples of each class in each split."""
        return {
            split: tuple(
                np.bincount(self.labels[self.splits == at], minlength=len(self.classes)).tolist()
            )
            for at, split in enumerate(SPLITS)
        }

    def copies(self) -> dict[str, int]:
        """Count the examples of one split that another split has too."""
        train, valid, test = (self.digests[self.splits == at] for at in range(len(SPLITS)))
        return {
            "valid and train": int(np.isin(valid, train).sum()),
            "test and train": int(np.isin(test, train).sum()),
            "test and valid": int(np.isin(test, valid).sum()),
        }


def survey(items: Iterable[Item], name: str, rule: str) -> Survey:
    """Read all examples once; `rule` says by what the data names its splits."""
    notes = _Notes(name)
    for item in items:
        notes.add(item)
    classes, labels = notes.classes()
    digests = np.array(notes.digests, np.uint64)
    splits, words = assign(labels, np.array(notes.splits, np.int64), digests, rule)
    for at, split in enumerate(SPLITS):
        if not (splits == at).any():
            raise UserError(
                f"{name}: none of the {len(labels):,} examples is left for {split}; "
                "ten different ones of each class are enough"
            )
    moments = np.array(notes.moments).reshape(-1, NUM_MOMENTS)
    return Survey(classes, labels, splits, digests, moments, notes.num_empty, words)


class _Notes:
    """What is kept of every example; a list of a million would be large."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.labels, self.splits = array("q"), array("q")
        self.digests, self.moments = array("Q"), array("d")
        self.numbers: dict[str, int] = {}
        self.num_empty = 0

    def add(self, item: Item) -> None:
        """Take note of an example."""
        if item.is_empty:
            self.num_empty += 1
            return
        if not item.label:
            raise UserError(f"{item.place}: the label is empty")
        self.labels.append(self.numbers.setdefault(item.label, len(self.numbers)))
        if len(self.numbers) > MAX_CLASSES:
            raise UserError(f"{self.name}: the label has more than {MAX_CLASSES:,} {NO_CLASSES}")
        self.splits.append(SPLITS.index(item.split) if item.split else UNSPLIT)
        self.digests.append(item.digest)
        self.moments.extend(_moments(item))

    def classes(self) -> tuple[tuple[str, ...], Integers]:
        """Sort the classes, and number the label of every example by that order."""
        if not self.labels:
            raise UserError(f"{self.name} has no examples")
        found, count = list(self.numbers), len(self.labels)
        if len(found) == 1:
            only = f"every example has the label {found[0]!r}"
            raise UserError(f"{self.name}: {only}; two classes are the least")
        if len(found) > count // 2:
            rows = f"in {count:,} examples the label has {len(found):,}"
            raise UserError(f"{self.name}: {rows} {NO_CLASSES}")
        classes = _sorted(found)
        order = np.argsort([self.numbers[name] for name in classes])
        return classes, order[np.array(self.labels, np.int64)]


def assign(labels: Integers, given: Integers, digests: Digests, rule: str) -> tuple[Integers, str]:
    """Give every example its split; say by which rule."""
    train, valid, test = range(len(SPLITS))
    is_unsplit = bool((given == UNSPLIT).all())
    splits = np.where(given == UNSPLIT, train, given)
    words = ["a fixed 80, 10 and 10 percent of each class" if is_unsplit else rule]
    total = np.bincount(labels[splits == train], minlength=int(labels.max(initial=0)) + 1)
    for at in (test, valid):
        if not (given == at).any():
            hold_out(splits, labels, digests, at, total)
            words += [] if is_unsplit else [f"{SPLITS[at]}: a fixed tenth of each class of train"]
    return splits, "; ".join(words)


def hold_out(
    splits: Integers, labels: Integers, digests: Digests, split: int, total: Integers
) -> None:
    """Move a tenth of each class, of `total` examples each, out of train, copies together."""
    for label, count in enumerate(total.tolist()):
        if count < SMALLEST_CLASS:
            continue
        own = np.flatnonzero((labels == label) & (splits == 0))
        own = own[np.argsort(digests[own], kind="stable")]
        end = max(1, round(count * VALID_SHARE))
        while end < len(own) and digests[own[end]] == digests[own[end - 1]]:
            end += 1
        if end < len(own):  # a class of copies alone stays in train
            splits[own[:end]] = split


def _moments(item: Item) -> tuple[float, ...]:
    """Sum up the values of an example; bytes need no scale."""
    if all(sequence.dtype == np.uint8 for sequence in item.sequences):
        return (0.0,) * NUM_MOMENTS
    values = np.concatenate([sequence.astype(np.float64) for sequence in item.sequences])
    if not np.isfinite(values).all():
        raise UserError(
            f"{item.place} has a value that is no number; NaN may only fill up the end of a row"
        )
    return len(values), values.sum(), (values**2).sum(), values.min(), values.max()


def _sorted(names: Iterable[str]) -> tuple[str, ...]:
    """Sort classes as numbers if all are, else as words.

    >>> _sorted(["10", "9"]), _sorted(["pos", "neg"])
    (('9', '10'), ('neg', 'pos'))
    """
    found = list(names)
    try:
        return tuple(sorted(found, key=int))
    except ValueError:
        return tuple(sorted(found))

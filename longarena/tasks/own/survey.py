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
    # a row of a million examples would be large as a list
    labels, splits, digests, moments = array("q"), array("q"), array("Q"), array("d")
    numbers: dict[str, int] = {}
    num_empty = 0
    for item in items:
        if item.is_empty:
            num_empty += 1
            continue
        if not item.label:
            raise UserError(f"{item.place}: the label is empty")
        labels.append(numbers.setdefault(item.label, len(numbers)))
        _refuse_too_many(name, numbers)
        splits.append(SPLITS.index(item.split) if item.split else UNSPLIT)
        digests.append(item.digest)
        moments.extend(_moments(item))
    _check(name, numbers, len(labels))
    classes = _sorted(numbers)
    order = np.empty(len(numbers), np.int64)
    for number, label in enumerate(classes):
        order[numbers[label]] = number
    found = order[np.array(labels, np.int64)], np.array(splits, np.int64)
    keys = np.array(digests, np.uint64)
    chosen, words = assign(*found, keys, rule)
    for at, split in enumerate(SPLITS):
        if not (chosen == at).any():
            raise UserError(
                f"{name}: none of the {len(labels):,} examples is left for {split}; "
                "ten different ones of each class are enough"
            )
    return Survey(
        classes, found[0], chosen, keys, np.array(moments).reshape(-1, 5), num_empty, words
    )


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
        return (0.0, 0.0, 0.0, 0.0, 0.0)
    values = np.concatenate([sequence.astype(np.float64) for sequence in item.sequences])
    if not np.isfinite(values).all():
        raise UserError(
            f"{item.place} has a value that is no number; NaN may only fill up the end of a row"
        )
    return len(values), values.sum(), (values**2).sum(), values.min(), values.max()


def _refuse_too_many(name: str, numbers: dict[str, int]) -> None:
    if len(numbers) > MAX_CLASSES:
        raise UserError(
            f"{name}: the label has more than {MAX_CLASSES:,} different values; "
            "is it the right column? Labels are classes"
        )


def _check(name: str, numbers: dict[str, int], count: int) -> None:
    if count == 0:
        raise UserError(f"{name} has no examples")
    if len(numbers) == 1:
        only = next(iter(numbers))
        raise UserError(f"{name}: every example has the label {only!r}; two classes are the least")
    if len(numbers) > count // 2:
        raise UserError(
            f"{name}: the label has {len(numbers):,} different values in {count:,} examples; "
            "is it the right column? Labels are classes"
        )


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

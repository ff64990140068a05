"""The batch of step t is a pure function of (dataset, seed, t).

An epoch shuffles the examples, sorts them by length bucket, cuts the sorted row into batches and
shuffles the batches. So a batch holds examples of similar length, padded only to the longest of
them, rounded up to a multiple of 64: no step computes much padding.

Choice: the examples that do not fill a last batch are left out of the epoch; each epoch leaves
        out different ones. Inside a bucket the order is random, so batches differ between epochs.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np
import torch

from longarena.data.dataset import Integers, Split
from longarena.errors import UserError
from longarena.seeding import numpy_rng
from longarena.shapes import Labels, SequenceIds

BUCKET = 64


@dataclass(frozen=True)
class Batch:
    """Padded ids (0 is padding) of one or two sequences per example, and the labels."""

    ids: SequenceIds
    labels: Labels

    def to(self, device: torch.device) -> "Batch":
        """Move the batch to a device."""
        return Batch(self.ids.to(device), self.labels.to(device))

    def part(self, which: int, of: int) -> "Batch":
        """Take every `of`-th example, for devices and accumulation steps that share a batch."""
        return Batch(self.ids[which::of], self.labels[which::of])


def round_up(length: int, multiple: int = BUCKET) -> int:
    """Round a length up to a multiple; an empty batch still has one bucket.

    >>> [round_up(n) for n in (0, 1, 64, 65)]
    [64, 64, 64, 128]
    """
    return max(1, -(-length // multiple)) * multiple


def assemble(split: Split, examples: Integers, bucket: int = BUCKET) -> Batch:
    """Gather examples from the memory map into one batch, padded to a multiple of `bucket`."""
    length = round_up(int(split.lengths[examples].max(initial=0)), bucket)
    ids = np.zeros((len(examples), split.num_sequences, length), np.int64)
    for row, example in enumerate(examples.tolist()):
        for which in range(split.num_sequences):
            tokens = split.sequence(example, which)
            np.add(tokens, 1, out=ids[row, which, : len(tokens)], casting="unsafe", dtype=np.int64)
    return Batch(torch.from_numpy(ids), torch.from_numpy(split.labels[examples]))


class Batches(Protocol):
    """The batches of a training run, indexed by step."""

    def __getitem__(self, step: int) -> Batch:
        """Make the batch of a step."""

    def padding_share(self) -> float:
        """Return the share of positions that are padding."""


class TrainingBatches:
    """An endless row of shuffled batches, indexed by step; short examples want a small `bucket`."""

    def __init__(self, split: Split, batch_size: int, seed: int, bucket: int = BUCKET) -> None:
        if len(split) < batch_size:
            raise UserError(
                f"a batch of {batch_size} is larger than the {len(split)} training examples; "
                "choose a smaller batch or prepare more data"
            )
        self.split, self.batch_size, self.seed = split, batch_size, seed
        self.bucket = bucket
        self.per_epoch = len(split) // batch_size
        self._buckets = -(-split.lengths // bucket)
        self._epoch = lru_cache(maxsize=2)(self._plan)

    def __getitem__(self, step: int) -> Batch:
        epoch, position = divmod(step, self.per_epoch)
        return assemble(self.split, self._epoch(epoch)[position], self.bucket)

    def padding_share(self, epoch: int = 0) -> float:
        """Return the share of positions of an epoch that are padding."""
        rows = self._epoch(epoch)
        longest = [int(self.split.lengths[row].max()) for row in rows]
        computed = sum(round_up(length, self.bucket) for length in longest)
        sequences = self.batch_size * self.split.num_sequences
        return 1 - int(self.split.num_tokens[rows].sum()) / (computed * sequences)

    def _plan(self, epoch: int) -> Integers:
        """Assign the examples of one epoch to batches: (batches, batch_size) indices."""
        rng = numpy_rng(self.seed, "batches", epoch)
        used = rng.permutation(len(self.split))[: self.per_epoch * self.batch_size]
        by_bucket = used[np.argsort(self._buckets[used], kind="stable")]
        rows: Integers = by_bucket.reshape(self.per_epoch, self.batch_size)
        return rows[rng.permutation(self.per_epoch)]


def evaluation_order(split: Split) -> Integers:
    """Order the examples of a split for evaluation: shortest first."""
    return np.argsort(split.lengths, kind="stable")


def evaluation_batches(split: Split, batch_size: int, bucket: int = BUCKET) -> Iterator[Batch]:
    """Yield every example of a split once, in the order for evaluation."""
    order = evaluation_order(split)
    for start in range(0, len(order), batch_size):
        yield assemble(split, order[start : start + batch_size], bucket)


def one_ahead(batch: Callable[[int], Batch], start: int, stop: int) -> Iterator[Batch]:
    """Yield batch(start) ... batch(stop - 1), each assembled in a thread while the last is used."""
    if start >= stop:
        return
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="batches") as pool:
        following = pool.submit(batch, start)
        for step in range(start + 1, stop):
            current = following.result()
            following = pool.submit(batch, step)
            yield current
        yield following.result()

"""Prepare a user's data: read it once to survey it and once more to write it.

No more than some hundred examples are in memory at a time, besides a few numbers for each.
"""

from array import array
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from longarena.data.dataset import Chunk, DiskTokens, Writer, token_type
from longarena.errors import UserError
from longarena.progress import SILENT, Progress
from longarena.tasks.base import SPLITS
from longarena.tasks.own.base import FOUND, OwnData
from longarena.tasks.own.card import DataCard, quantiles
from longarena.tasks.own.encoding import Encoding, Scale
from longarena.tasks.own.survey import Survey, survey

CHUNK_TOKENS = 1 << 20

Encoded = tuple[str, int, list[DiskTokens]]  # the split, the class and the sequences of an example


def write_data(
    task: OwnData, path: Path, folder: Path, facts: dict[str, object], progress: Progress = SILENT
) -> None:
    """Write the dataset of a task from the data at `path`."""
    found = survey(task.items(path), task.name, task.rule(path))
    encoding = task.encoding(found, path)
    lengths = {split: array("q") for split in SPLITS}
    writer = Writer(folder, facts, task.num_sequences, token_type(encoding.vocab_size))
    label = f"preparing {task.name}"
    with writer, progress.bar(label, total=len(found.labels)) as bar:
        for split in SPLITS:  # the files of every split exist, in this order
            writer.add(split, _packed([]))
        for split, chunk in _chunks(_encoded(task, path, found, encoding)):
            writer.add(split, chunk)
            lengths[split].extend(chunk.lengths.tolist())
            bar.advance(len(chunk.labels), note=split)
        for name, content in encoding.files.items():
            writer.attach(name, content)
        card = _card(task, path, found, encoding, lengths)
        writer.facts = facts | {FOUND: card.model_dump(mode="json")}


def _encoded(task: OwnData, path: Path, found: Survey, encoding: Encoding) -> Iterator[Encoded]:
    """Read the examples again and turn them into tokens."""
    number = 0
    for item in task.items(path):
        if item.is_empty:
            continue
        if number == len(found.labels) or item.digest != found.digests[number]:
            raise UserError(f"{path} was changed while it was read; try again")
        split, label = SPLITS[found.splits[number]], int(found.labels[number])
        yield split, label, [encoding.encode(sequence) for sequence in item.sequences]
        number += 1


def _chunks(examples: Iterator[Encoded]) -> Iterator[tuple[str, Chunk]]:
    """Pack the examples of each split, about a million tokens at a time."""
    waiting: dict[str, list[Encoded]] = defaultdict(list)
    sizes: dict[str, int] = defaultdict(int)
    for example in examples:
        split = example[0]
        waiting[split].append(example)
        sizes[split] += sum(map(len, example[2]))
        if sizes[split] >= CHUNK_TOKENS:
            yield split, _packed(waiting.pop(split))
            sizes[split] = 0
    for split, rest in waiting.items():
        yield split, _packed(rest)


def _packed(examples: list[Encoded]) -> Chunk:
    sequences = [sequence for _, _, sequences in examples for sequence in sequences]
    return Chunk(
        tokens=np.concatenate(sequences) if sequences else np.zeros(0, np.uint8),
        lengths=np.array([len(sequence) for sequence in sequences], np.int64),
        labels=np.array([label for _, label, _ in examples], np.int64),
    )


def _card(
    task: OwnData, path: Path, found: Survey, encoding: Encoding, lengths: dict[str, "array[int]"]
) -> DataCard:
    scale = encoding if isinstance(encoding, Scale) else None
    return DataCard(
        classes=found.classes,
        counts=found.counts(),
        lengths={split: quantiles(np.array(each, np.int64)) for split, each in lengths.items()},
        copies=found.copies(),
        num_empty=found.num_empty,
        splits=found.rule,
        unit=task.unit,
        vocab_size=encoding.vocab_size,
        has_values=task.has_values,
        num_sequences=task.num_sequences,
        image_shape=task.image_shape(path),
        low=scale.low if scale else None,
        high=scale.high if scale else None,
        clipped=scale.clipped if scale else 0.0,
    )

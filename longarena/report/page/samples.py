"""What the tasks ask: the card of every task, with samples of those that can be generated here.

Choice: a text is short (the task's `sample_options`); a real expression of ListOps fills a screen.
Choice: samples of data that must be downloaded are left out, because a page has only what every
        reader may have and pass on. `longarena data show TASK` shows them.
"""

import base64
from dataclasses import dataclass

import numpy as np

from longarena import tasks
from longarena.data import png
from longarena.tasks.base import Task, TaskCard
from longarena.tasks.signature import Signature

IMAGES = 4
MAX_SIDE = 128


@dataclass(frozen=True)
class Picture:
    """One image with its answer."""

    url: str
    label: int


@dataclass(frozen=True)
class Sample:
    """A task, and what its examples look like."""

    card: TaskCard
    signature: Signature
    text: str = ""
    pictures: tuple[Picture, ...] = ()


def samples() -> list[Sample]:
    """Describe every task of the table."""
    return [_sample(tasks.build(name, {})) for name in tasks.TASKS]


def _sample(task: Task) -> Sample:
    card, signature = task.card, task.signature
    if not task.is_generated:
        return Sample(card, signature)
    if card.image_shape is None:
        return Sample(card, signature, text=_text(task))
    pictures = _pictures(task) if max(card.image_shape) <= MAX_SIDE else ()
    return Sample(card, signature, pictures=pictures)


def _text(task: Task) -> str:
    """Write one example, as short as the task allows."""
    short = tasks.build(task.card.name, task.sample_options)
    _, chunk = next(iter(short.generate({"train": 1})))
    ends = np.cumsum(chunk.lengths)[: short.signature.num_sequences]
    sequences = np.split(chunk.tokens[: ends[-1]], ends[:-1])
    return short.describe(sequences, int(chunk.labels[0]))


def _pictures(task: Task) -> tuple[Picture, ...]:
    height, width = task.card.image_shape or (1, 1)
    _, chunk = next(iter(task.generate({"train": IMAGES})))
    images = np.asarray(chunk.tokens, np.uint8).reshape(-1, height, width)[:IMAGES]
    return tuple(
        Picture(_url(image), int(label)) for image, label in zip(images, chunk.labels, strict=True)
    )


def _url(image: png.Grey) -> str:
    return f"data:image/png;base64,{base64.b64encode(png.encode(image)).decode()}"

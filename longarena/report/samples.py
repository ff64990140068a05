"""What is asked: the card of every task, with samples of those that can be generated on the spot.

Choice: the expression is a short one of the same grammar; a real one fills a screen.
Choice: samples of data that must be fetched are left out: a page has only what every reader may
        have and pass on. `longarena data show TASK` shows them.
"""

import base64
from dataclasses import dataclass

import numpy as np

from longarena import tasks
from longarena.data import png
from longarena.tasks.base import Task, TaskCard

SHORT = {"min_length": 14, "max_length": 26, "max_depth": 4}
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
    text: str = ""
    pictures: tuple[Picture, ...] = ()


def samples() -> list[Sample]:
    """Describe every task of the table."""
    return [_sample(tasks.build(name, {})) for name in tasks.TASKS]


def _sample(task: Task) -> Sample:
    card = task.card
    if not task.is_generated:
        return Sample(card)
    if card.image_shape is None:
        return Sample(card, text=_expression(card.name))
    return Sample(card, pictures=_pictures(task) if max(card.image_shape) <= MAX_SIDE else ())


def _expression(name: str) -> str:
    short = tasks.build(name, SHORT)
    _, chunk = next(iter(short.generate({"train": 1})))
    return short.describe([chunk.tokens], int(chunk.labels[0]))


def _pictures(task: Task) -> tuple[Picture, ...]:
    height, width = task.card.image_shape or (1, 1)
    _, chunk = next(iter(task.generate({"train": IMAGES})))
    images = np.asarray(chunk.tokens, np.uint8).reshape(-1, height, width)[:IMAGES]
    return tuple(
        Picture(_url(image), int(label)) for image, label in zip(images, chunk.labels, strict=True)
    )


def _url(image: png.Grey) -> str:
    return f"data:image/png;base64,{base64.b64encode(png.encode(image)).decode()}"

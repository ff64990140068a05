"""Image: say what a photograph shows, given as a row of 1,024 grey pixels.

The pixels come line by line, so two pixels above each other are 32 positions apart; nothing tells
the model that the row is a square.

    image 32 x 32    side=16, for small machines: every pixel is the mean of 2 x 2

Data:   CIFAR-10, Krizhevsky (2009), https://www.cs.toronto.edu/~kriz/cifar.html
Choice: grey as TensorFlow makes it, as in the release: in float, then times 255.5, truncated.
Choice: a token is the pixel's value + 1 (the release uses the value), because 0 is padding here.
Choice: a mean of grey values is truncated, as they are.
Choice: valid is a seeded 500 of each class; the release cuts 5,000 off an order of its own.
"""

from collections.abc import Iterator, Sequence
from math import isqrt
from typing import Literal

import numpy as np
from einops import reduce

from longarena.data.archive import Source
from longarena.data.dataset import Bytes, Chunk, DiskTokens, Integers
from longarena.data.download import Download
from longarena.options import Options
from longarena.seeding import numpy_rng
from longarena.tasks.base import Task, TaskCard
from longarena.tasks.cifar import read_cifar
from longarena.tasks.raw_input import ValueInput
from longarena.tasks.signature import Signature
from longarena.tasks.splits import held_out

CLASSES = (
    *("airplane", "automobile", "bird", "cat", "deer"),
    *("dog", "frog", "horse", "ship", "truck"),
)
SHADES = " .:-=+*#%@"


class ImageOptions(Options):
    """How large the image is; the default is the official task."""

    side: Literal[16, 32] = 32


class Image(Task):
    """Ten-way classification of small grey photographs."""

    options_type = ImageOptions
    options: ImageOptions
    raw_input = ValueInput()
    class_names = CLASSES
    download = Download(
        "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
        "sha256:c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
    )

    @property
    def signature(self) -> Signature:
        return Signature(
            vocab_size=257,
            max_length=self.options.side**2,
            num_classes=len(CLASSES),
            has_values=True,
        )

    @property
    def card(self) -> TaskCard:
        return TaskCard(
            name="image",
            version=1,
            title="Image (CIFAR-10, grey pixels)",
            question="What is on this image?",
            sizes={"train": 45_000, "valid": 5_000, "test": 10_000},
            splits="official test; valid: a seeded tenth of each class of the official train",
            source="cifar-10-binary.tar.gz",
            licence="research use, by its author's terms",
            citation="Krizhevsky (2009), Learning multiple layers of features from tiny images",
            image_shape=(self.options.side, self.options.side),
        )

    def read(self, source: Source) -> Iterator[tuple[str, Chunk]]:
        found = read_cifar(source)
        pixels, labels = found["train"]
        valid = held_out(labels, numpy_rng(self.card.version, "image", "valid"))
        yield "train", self._chunk(pixels[~valid], labels[~valid])
        yield "valid", self._chunk(pixels[valid], labels[valid])
        yield "test", self._chunk(*found["test"])

    def _chunk(self, pixels: Bytes, labels: Integers) -> Chunk:
        smaller = shrunk(pixels, self.options.side)
        lengths = np.full(len(labels), self.options.side**2, np.int64)
        return Chunk(tokens=smaller.reshape(-1), lengths=lengths, labels=labels)

    def describe(self, sequences: Sequence[DiskTokens], label: int) -> str:
        # a character is about twice as high as wide: every other line
        side = self.options.side
        rows = sequences[0].reshape(side, side)[::2].astype(int) * len(SHADES) // 256
        return "\n".join([CLASSES[label], *("".join(SHADES[i] for i in row) for row in rows)])


def shrunk(pixels: Bytes, side: int) -> Bytes:
    """Shrink square images, a row of pixels each, to a side that divides theirs, by means.

    >>> shrunk(np.array([[1, 3, 4, 7]], np.uint8), 1).tolist()
    [[3]]
    """
    size = isqrt(pixels.shape[1]) // side
    rows = pixels.astype(np.uint16)
    sums = reduce(rows, "b (i h j w) -> b (i j)", "sum", i=side, j=side, w=size)
    means: Bytes = (sums // size**2).astype(np.uint8)
    return means

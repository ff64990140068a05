"""The files that CIFAR-10 comes in, as grey images of 1,024 bytes.

    cifar-10-binary.tar.gz   cifar-10-batches-bin/{data_batch_1..5,test_batch}.bin
                             records of 1 label byte and 3 x 1,024 bytes: red, green, blue
    cifar-10-python.tar.gz   cifar-10-batches-py/{data_batch_1..5,test_batch}
                             pickles of {data: (n, 3072) bytes, labels: [...]}
    any .npz                 x_train, x_test (n, 32, 32), already grey; y_train, y_test

The training images keep the official order, data_batch_1 to data_batch_5.
"""

import re
from typing import IO

import numpy as np
from numpy.typing import NDArray

from longarena.data.archive import Source, read_whole
from longarena.data.arrays import read_arrays
from longarena.data.dataset import Bytes, Integers
from longarena.data.pickles import byte_array, read_pickle
from longarena.errors import UserError

NUM_CLASSES = 10
NUM_PIXELS = 32 * 32
RECORD = 1 + 3 * NUM_PIXELS
MOST_BYTES = 1 << 28  # of one file; the largest that is known has 61 MB
NAME = re.compile(r"(?:.*/)?(data_batch_[1-5]|test_batch)(\.bin)?")
BATCHES = {"train": [f"data_batch_{i}" for i in range(1, 6)], "test": ["test_batch"]}

Images = tuple[Bytes, Integers]  # (n, 1024) grey pixels and their labels


def read_cifar(source: Source) -> dict[str, Images]:
    """Read the training and the test images."""
    return _read_npz(source) if source.path.suffix == ".npz" else _read_batches(source)


def grey(colour: NDArray[np.uint8]) -> Bytes:
    """Turn (n, 3, pixels) of RGB into (n, pixels) of grey as TensorFlow's rgb_to_grayscale does."""
    weights = np.array([0.2989, 0.5870, 0.1140], np.float32)
    brightness = np.einsum("ncp,c->np", colour * np.float32(1 / 255), weights)
    pixels: Bytes = (brightness * np.float32(255.5)).astype(np.uint8)
    return pixels


def _read_batches(source: Source) -> dict[str, Images]:
    """Read the six files of the official archives, either kind, in their official order."""
    found: dict[str, Images] = {}
    for name, file in source.members(lambda name: NAME.fullmatch(name) is not None):
        match = NAME.fullmatch(name)
        if match:
            found[match[1]] = (_binary if match[2] else _pickled)(name, file)
    missing = [name for names in BATCHES.values() for name in names if name not in found]
    if missing:
        raise UserError(
            f"{source.path} has no {', '.join(missing)}; it should be cifar-10-binary.tar.gz, "
            "cifar-10-python.tar.gz, the folder of one, or an .npz with grey images"
        )
    return {
        split: (
            np.concatenate([found[name][0] for name in names]),
            np.concatenate([found[name][1] for name in names]),
        )
        for split, names in BATCHES.items()
    }


def _binary(name: str, file: IO[bytes]) -> Images:
    content = np.frombuffer(read_whole(name, file, MOST_BYTES), np.uint8)
    if len(content) % RECORD:
        raise UserError(
            f"{name}: {len(content)} bytes are not a whole number of {RECORD}-byte records"
        )
    records = content.reshape(-1, RECORD)
    return _checked(name, grey(records[:, 1:].reshape(-1, 3, NUM_PIXELS)), records[:, 0])


def _pickled(name: str, file: IO[bytes]) -> Images:
    batch = read_pickle(name, read_whole(name, file, MOST_BYTES))
    if not isinstance(batch, dict):
        raise UserError(f"{name} does not hold a dictionary with data and labels")
    plain = {str(k, "ascii", "replace") if isinstance(k, bytes) else k: v for k, v in batch.items()}
    pixels, labels = byte_array(plain.get("data")), plain.get("labels")
    if pixels is None or pixels.shape[1:] != (3 * NUM_PIXELS,):
        raise UserError(f"{name} has no data of {3 * NUM_PIXELS} bytes per image")
    # one by one: NumPy would unfold lists that contain each other
    if not isinstance(labels, list) or not all(type(x) is int and 0 <= x < 256 for x in labels):
        raise UserError(f"{name} has no list of labels")
    return _checked(name, grey(pixels.reshape(-1, 3, NUM_PIXELS)), np.array(labels, np.uint8))


def _read_npz(source: Source) -> dict[str, Images]:
    try:
        arrays = read_arrays(source.path, ("x_train", "y_train", "x_test", "y_test"), MOST_BYTES)
    except ValueError as error:
        raise UserError(
            f"{source.path} is not an .npz with x_train, y_train, x_test and y_test ({error})"
        ) from None
    return {
        split: _checked(f"{source.path}, {split}", arrays[f"x_{split}"], arrays[f"y_{split}"])
        for split in BATCHES
    }


def _checked(name: str, pixels: NDArray[np.generic], labels: NDArray[np.generic]) -> Images:
    """Refuse images that do not have 1,024 bytes and one of ten labels each."""
    number = len(pixels) if pixels.ndim else 0
    if pixels.dtype != np.uint8 or pixels.size != number * NUM_PIXELS or not number:
        raise UserError(
            f"{name}: {pixels.dtype} of shape {pixels.shape} are not 32 x 32 grey bytes"
        )
    if labels.dtype.kind not in "iu" or labels.shape != (number,):
        raise UserError(f"{name}: {labels.dtype} of shape {labels.shape} are not {number} labels")
    wide = labels.astype(np.int64)
    if wide.min() < 0 or wide.max() >= NUM_CLASSES:
        raise UserError(f"{name}: there are labels outside 0 to {NUM_CLASSES - 1}")
    return np.asarray(pixels, np.uint8).reshape(number, NUM_PIXELS), wide

"""The files that Pathfinder comes in: PNG images, and metadata with a row for each.

    pathfinder{32,64,128,256}/{curv_baseline,curv_contour_length_9,curv_contour_length_14}/
        imgs/<batch>/sample_<n>.png      8-bit grey
        metadata/<batch>.npy             imgs/<batch> sample_<n>.png <n> <label> ...

In the release a metadata file is plain text with the name of a NumPy file, one line per image; the
original generator writes a true array of strings. Both are read. Empty image files are skipped
(there is one). Of files that the release holds twice, the inner copy is read.

Choice: the images stay compressed until they are written, about a kilobyte each: their splits are
        known only when all names are.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from longarena.data.archive import Source, read_whole
from longarena.data.arrays import read_array
from longarena.data.dataset import Bytes
from longarena.errors import UserError
from longarena.runtime import held_back

FOLDERS = {6: "curv_baseline", 9: "curv_contour_length_9", 14: "curv_contour_length_14"}
IMAGE = re.compile(r"imgs/([0-9]{1,9})/sample_([0-9]{1,9})\.png")
NUMPY = b"\x93NUMPY"
LABEL = 3  # column
MOST_BYTES = 1 << 26  # of one file

Key = tuple[int, int]  # batch, number in it


@dataclass(frozen=True)
class PackedImage:
    """An image that is still compressed; `pixels` decodes it."""

    name: str
    content: bytes
    label: int
    side: int

    def pixels(self) -> Bytes:
        """Decode the image; refuse one of another size."""
        # not at the top, so that only readers of images wait for numba
        from longarena.data.png import decode  # noqa: PLC0415

        with held_back():
            found = decode(self.content, self.name)
        if found.shape != (self.side, self.side):
            raise UserError(f"{self.name} has {found.shape} pixels instead of {(self.side,) * 2}")
        return found


def read_images(source: Source, side: int, difficulty: int) -> list[PackedImage]:
    """Read the images of one size and difficulty, in the order of batch and number."""
    place = f"pathfinder{side}/{FOLDERS[difficulty]}"
    images, labels = _collect(source, place)
    if not labels:
        raise UserError(f"{source.path} has no {place}/metadata/*.npy with labels")
    missing = sorted(set(labels) ^ set(images))
    if missing:
        batch, number = missing[0]
        lack = "metadata row" if missing[0] in images else "image"
        raise UserError(
            f"{source.path} has no {lack} for {place}/imgs/{batch}/sample_{number}.png"
            f" (and {len(missing) - 1} more); fetch it again"
        )
    return [
        PackedImage(name, content, labels[key], side)
        for key, (name, content) in sorted(images.items())
        if content
    ]


def _collect(source: Source, place: str) -> tuple[dict[Key, tuple[str, bytes]], dict[Key, int]]:
    """Gather the compressed images and the labels under a place; of two copies, the inner one."""
    # a folder may itself be that place, or lie within it
    prefix = f"{source.path.resolve().as_posix()}/" if source.path.is_dir() else ""
    member = re.compile(
        rf"(?:.*/)?{place}/(imgs/[0-9]{{1,9}}/sample_[0-9]{{1,9}}\.png|metadata/[0-9]{{1,9}}\.npy)"
    )
    images: dict[Key, tuple[str, bytes]] = {}
    labels: dict[Key, int] = {}
    for name, file in source.members(lambda name: member.fullmatch(prefix + name) is not None):
        content = read_whole(name, file, MOST_BYTES)
        match = IMAGE.search(name)
        if match is None:
            labels |= _labels(name, content)
        else:
            key = int(match[1]), int(match[2])
            if key not in images or images[key][0].count("/") < name.count("/"):
                images[key] = name, content
    return images, labels


def _labels(name: str, content: bytes) -> dict[Key, int]:
    """Read the label of every image of a metadata file."""
    labels: dict[Key, int] = {}
    for number, columns in enumerate(_rows(name, content), start=1):
        match = IMAGE.fullmatch("/".join(columns[:2]))
        if match is None or len(columns) <= LABEL or columns[LABEL] not in ("0", "1"):
            raise UserError(f"{name}, line {number}: {' '.join(columns)!r} has no image and label")
        labels[int(match[1]), int(match[2])] = int(columns[LABEL])
    return labels


def _rows(name: str, content: bytes) -> Iterator[list[str]]:
    if not content.startswith(NUMPY):
        lines = content.decode("utf-8", "replace").splitlines()
        return (line.split() for line in lines if line.strip())
    try:
        table = read_array(content)
        if table.ndim != 2 or table.dtype.kind not in "US":
            raise ValueError(f"{table.dtype} of shape {table.shape}")
        return iter(table.astype(str).tolist())
    except ValueError as error:
        raise UserError(f"{name} is not a table of strings ({error})") from None

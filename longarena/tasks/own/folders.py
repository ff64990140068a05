r"""Folders with one sub-folder for each class, perhaps inside folders for the splits.

reviews/good/17.txt          class good
reviews/train/good/17.txt    class good of the split train
speech/7_anna_3.wav          class 7, by the pattern ^(\d)_
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from longarena.errors import UserError
from longarena.tasks.own.base import OwnOptions
from longarena.tasks.own.names import SPLIT_NAMES, visible_files


class FolderOptions(OwnOptions):
    r"""Where the class of a file stands: in the name of its folder, or in its own name.

    For its own name, `label` is a regular expression whose first group is the class: `^(\d)_`.
    """

    label: str = ""


@dataclass(frozen=True)
class ClassFile:
    """A file, where it stands, its class, and its split if a folder names it."""

    path: Path
    place: str
    label: str
    split: str


def class_files(folder: Path, pattern: str, ending: str = "") -> Iterator[ClassFile]:
    """Yield every file with this ending, with its class and split, sorted by name."""
    found = _compiled(pattern)
    files = sorted(path for path in visible_files(folder) if path.name.lower().endswith(ending))
    has_splits = all(path.relative_to(folder).parts[0].lower() in SPLIT_NAMES for path in files)
    for path in files:
        parts = path.relative_to(folder).parts
        place = f"{folder.resolve().name}/{'/'.join(parts)}"
        split = SPLIT_NAMES[parts[0].lower()] if has_splits else ""
        inner = parts[1:] if has_splits else parts
        yield ClassFile(path, place, _label(inner, found, place), split)


def read_whole(path: Path, place: str, most: int) -> bytes:
    """Return the content of a file that is not gigantic."""
    size = path.stat().st_size
    if size > most:
        raise UserError(f"{place} has {size:,} bytes; cut it, {most:,} are the most")
    return path.read_bytes()


def _compiled(pattern: str) -> re.Pattern[str] | None:
    if not pattern:
        return None
    try:
        found = re.compile(pattern)
    except re.error as error:
        raise UserError(f"--label {pattern!r} is not a regular expression ({error})") from None
    if found.groups < 1:
        raise UserError(f"--label {pattern!r} has no group; put what is the class in brackets")
    return found


def _label(parts: tuple[str, ...], pattern: re.Pattern[str] | None, place: str) -> str:
    if pattern is None:
        if len(parts) < 2:
            raise UserError(
                f"{place} is in no folder of a class; move it, or say where its name has the "
                r"class: --label '^(\d)_'"
            )
        return parts[0]
    match = pattern.search(parts[-1])
    if match is None or not match[1]:
        raise UserError(f"{place} does not match --label {pattern.pattern!r}")
    return match[1]

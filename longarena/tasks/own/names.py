"""What data is called in a recipe: by its own name, never by where it lies on somebody's machine.

    shop/reviews.csv   ->  reviews.csv
    shop/README        ->  ./README        a name without a dot could be that of a task
    shop/speech        ->  speech.wav/     a folder, and what was found in it

A name is taken for that of data if it has a dot or a slash in it and no colon.
"""

import re
from collections.abc import Iterator
from pathlib import Path, PurePath

from longarena.errors import UserError
from longarena.tasks.own.rows import FORMATS

# what a folder or a file may call a split
SPLIT_NAMES = {
    "train": "train",
    "training": "train",
    "valid": "valid",
    "val": "valid",
    "validation": "valid",
    "dev": "valid",
    "eval": "valid",
    "test": "test",
}
SPLIT_FILE = re.compile(
    rf"({'|'.join(SPLIT_NAMES)})({'|'.join(map(re.escape, FORMATS))})", re.IGNORECASE
)
# files that are neither a text nor of a kind that is read
REFUSED = {
    **dict.fromkeys((".gz", ".bz2", ".xz", ".zst", ".zip", ".tar", ".tgz", ".7z"), "unpack it"),
    **dict.fromkeys((".xls", ".xlsx", ".ods"), "save it as .csv"),
    **dict.fromkeys((".feather", ".arrow", ".orc"), "save it as .parquet"),
    **dict.fromkeys((".pkl", ".pickle", ".pt", ".pth", ".h5", ".hdf5", ".mat"), "save it as .npz"),
    **dict.fromkeys((".wav", ".mp3", ".flac", ".ogg"), "name a folder of .wav files"),
}


def is_path_name(name: str) -> bool:
    """Tell whether the name of a task is that of data, without looking for it.

    >>> [is_path_name(name) for name in ("emma.txt", "./README", "text", "mine.tasks:Own")]
    [True, True, False, False]
    """
    return ":" not in name and ("." in name or "/" in name)


def is_folder_name(name: str) -> bool:
    """Tell whether data of this name is a folder."""
    return name.endswith("/")


def ending_of(name: str) -> str:
    """Return the ending by which a name tells its kind.

    >>> ending_of("Reviews.CSV"), ending_of("speech.wav/"), ending_of("./README")
    ('.csv', '.wav', '')
    """
    return PurePath(name).suffix.lower()


def name_of(path: Path) -> str:
    """Return the name of the task that a path means; the path need not exist if it is a file."""
    if ":" in path.name:
        raise UserError(f"{path}: a colon in a name cannot be told from module:Class")
    if path.is_dir():
        return f"{path.resolve().name}{_content(path)}/"
    ending = path.suffix.lower()
    if ending in REFUSED:
        raise UserError(f"{path}: files of the kind {ending} are not read; {REFUSED[ending]}")
    return path.name if "." in path.name else f"./{path.name}"


def is_short(name: str) -> bool:
    """Tell whether a name says nothing about where the data lies.

    >>> [is_short(name) for name in ("a.txt", "./README", "speech.wav/", "books/a.txt", "../a")]
    [True, True, True, False, False]
    """
    return "/" not in name.removeprefix("./").removesuffix("/") and name != "../"


def split_files(folder: Path) -> dict[str, Path]:
    """Find the files of a folder that are named by a split, such as train.csv and test.csv."""
    found: dict[str, Path] = {}
    for path in sorted(folder.iterdir()):
        named = SPLIT_FILE.fullmatch(path.name)
        if named and path.is_file():
            split = SPLIT_NAMES[named[1].lower()]
            if split in found:
                raise UserError(f"{found[split]} and {path} both are {split}; keep one of them")
            found[split] = path
    if len({path.suffix.lower() for path in found.values()}) > 1:
        raise UserError(f"{folder}: the files of the splits are of several kinds; save them alike")
    return found


def visible_files(folder: Path) -> Iterator[Path]:
    """Yield the files below a folder, but hidden ones and what is in hidden folders."""
    for path in folder.rglob("*"):
        parts = path.relative_to(folder).parts
        if not any(part.startswith(".") for part in parts) and path.is_file():
            yield path


def _content(folder: Path) -> str:
    """Tell by an ending what a folder holds: tables, recordings or texts."""
    tables = split_files(folder)
    if tables:
        return next(iter(tables.values())).suffix.lower()
    loose = [path for path in folder.iterdir() if path.suffix.lower() in FORMATS]
    if loose:
        raise UserError(
            f"{loose[0]}: in a folder, tables are named by their split, such as "
            f"train{loose[0].suffix}; or name this one file"
        )
    files = visible_files(folder)
    first = next(files, None)
    if first is None:
        raise UserError(f"{folder} is empty; a folder of data has a sub-folder for each class")
    is_sound = first.suffix.lower() == ".wav" or any(
        path.suffix.lower() == ".wav" for path in files
    )
    return ".wav" if is_sound else ".txt"

"""List the prepared data: every dataset with its size on disk, fingerprint and state."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from longarena.data.dataset import Dataset
from longarena.data.files import locked
from longarena.errors import UserError

State = Literal["complete", "damaged", "being prepared"]


@dataclass(frozen=True)
class Prepared:
    """One folder of data; a dataset that is not complete has no fingerprint and no sizes."""

    task: str
    variant: str
    folder: Path
    num_bytes: int
    state: State
    fingerprint: str = ""
    sizes: tuple[tuple[str, int], ...] = ()


def listing(home: Path) -> list[Prepared]:
    """List every dataset under `home`; each is read through, so that damage is found."""
    folders = (path for path in sorted(home.glob("*/v[0-9]*")) if path.is_dir())
    return [_unfinished(path) if path.suffix == ".partial" else _finished(path) for path in folders]


def _finished(folder: Path) -> Prepared:
    variant = folder.name.partition(",")[2]
    about = folder.parent.name, variant, folder, _num_bytes(folder)
    try:
        found = Dataset(folder)
    except UserError:
        return Prepared(*about, "damaged")
    return Prepared(*about, "complete", found.fingerprint, tuple(found.sizes.items()))


def _unfinished(folder: Path) -> Prepared:
    """Tell a dataset that is being written from what a process that died left behind."""
    name = folder.stem.rpartition(".")[0]  # without the number of the process
    try:
        with locked(folder.with_name(f".{name}.lock"), "in use"):
            state: State = "damaged"
    except UserError:
        state = "being prepared"
    return Prepared(folder.parent.name, name.partition(",")[2], folder, _num_bytes(folder), state)


def _num_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir() if path.is_file())

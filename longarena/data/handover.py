"""Hand a dataset over to other machines, through a storage that they reach.

The file that describes a dataset is sent last and read first: what has it is complete. On arrival
the dataset is written under a temporary name, read through and compared with its fingerprint, then
renamed. Processes of one machine that need it wait for the first of them, which fetches it.
"""

import shutil
from pathlib import Path

from pydantic import ValidationError

from longarena.data.dataset import ABOUT, About, Dataset, files_of, read_about
from longarena.data.files import waiting
from longarena.data.storage import Missing, Storage, StorageError, fetch, read_text, send
from longarena.errors import UserError
from longarena.progress import SILENT, Progress

KILOBYTE, MEGABYTE = 10**3, 10**6


def send_dataset(folder: Path, storage: Storage, name: str, progress: Progress = SILENT) -> None:
    """Copy a dataset to a storage unless it is there."""
    about, there = read_about(folder), find_dataset(storage, name)
    if there is not None and there.fingerprint == about.fingerprint:
        return
    if there is not None:
        raise StorageError(
            f"{storage.title} has other data as {name} (fingerprint {there.fingerprint}, here "
            f"{about.fingerprint}); delete it there, or give another storage"
        )
    progress.say(f"data {name} ({_size(folder)}) goes to {storage.title}")
    for file in [*files_of(about.sizes, about.attached), ABOUT]:
        send(folder / file, storage, f"{name}/{file}")


def find_dataset(storage: Storage, name: str) -> About | None:
    """Return what a storage says of a dataset; None if it has not all of it."""
    try:
        return About.model_validate_json(read_text(storage, f"{name}/{ABOUT}"))
    except Missing:
        return None
    except ValidationError:
        raise _damaged(storage, name) from None


def fetch_dataset(storage: Storage, name: str, folder: Path, progress: Progress = SILENT) -> bool:
    """Copy a dataset here unless it is here; return False if the storage does not have it."""

    def say() -> None:
        progress.say(f"waiting for another process that fetches {name}")

    if folder.exists():
        return True
    with waiting(folder.with_name(f".{folder.name}.lock"), say):
        if folder.exists():
            return True
        about = find_dataset(storage, name)
        if about is None:
            return False
        _place(about, storage, name, folder)
    progress.say(f"data {name} ({_size(folder)}) came from {storage.title} to {folder}")
    return True


def _place(about: About, storage: Storage, name: str, folder: Path) -> None:
    """Fetch the files of a dataset, check them, and give them their name."""
    # the lock guarantees that a leftover belongs to a process that died
    partial = folder.with_name(f"{folder.name}.0.partial")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        for file in [*files_of(about.sizes, about.attached), ABOUT]:
            fetch(storage, f"{name}/{file}", partial / file)
        try:
            Dataset(partial)
        except UserError:
            raise _damaged(storage, name) from None
        partial.rename(folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _damaged(storage: Storage, name: str) -> StorageError:
    return StorageError(
        f"the data {name} in {storage.title} is damaged; delete it there, and the next sweep sends "
        "it again"
    )


def _size(folder: Path) -> str:
    """Say how large a dataset is."""
    total = sum(path.stat().st_size for path in folder.iterdir() if path.is_file())
    if total < MEGABYTE:
        return f"{total / KILOBYTE:.0f} kB"
    return f"{total / MEGABYTE:,.1f} MB"

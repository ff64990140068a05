"""Have data where all machines find it: prepared on this one, or brought from one that has it."""

import platform
import shutil
from collections.abc import Callable
from pathlib import Path

from longarena.data.dataset import Dataset
from longarena.data.handover import fetch_dataset, find_dataset, send_dataset
from longarena.data.server import RemoteStorage, Server
from longarena.data.storage import FolderStorage, Storage, StorageError, confirm, open_storage
from longarena.errors import UserError
from longarena.options import Options
from longarena.progress import Progress
from longarena.recipes.recipe import Recipe, build_task
from longarena.sweep.away import DATA, Telling, data_name, part_of
from longarena.tasks.base import default_home
from longarena.tasks.prepare import obtain

# the folder of a server for data that arrives
INCOMING = "incoming"


class Offer(Options):
    """Whose data is wanted, and where it goes: to a storage, or to `home`, as in an AwayJob."""

    recipe: Recipe
    home: str
    storage: str | None = None
    mark: str = ""


def incoming(home: Path) -> Path:
    """Return where data arrives on the machine of the sweep, before it is checked."""
    return home / f".{INCOMING}"


def supply(
    recipe: Recipe, address: str | None, find: Callable[[], bool], progress: Progress
) -> str:
    """Have the data of a recipe in a storage, or here if there is none; return its fingerprint.

    `find` has it sent by another machine, and tells whether one has it.
    """
    home, task = default_home(), build_task(recipe)
    folder, name = task.stored.folder(home), data_name(task)
    kept = part_of(address, DATA) if address else None

    def fingerprint() -> str:
        there = find_dataset(kept, name) if kept and not folder.exists() else None
        return there.fingerprint if there else obtain(task, home, progress).fingerprint

    try:
        found = fingerprint()
    except UserError as error:
        if isinstance(error, StorageError) or folder.exists() or not find():
            raise
        if kept is None:
            fetch_dataset(FolderStorage(incoming(home)), name, folder)
            shutil.rmtree(incoming(home), ignore_errors=True)
        found = fingerprint()
    if kept and folder.exists():
        send_dataset(folder, kept, name, progress)
    return found


def offer(wanted: Offer, server: Server) -> bool:
    """Send data that this machine has; tell whether it has it."""
    try:
        task = build_task(wanted.recipe)
        folder = Dataset(task.stored.folder(default_home())).folder
    except UserError:
        return False
    target: Storage = RemoteStorage(server, INCOMING, wanted.home)
    if wanted.storage is not None:
        confirm(open_storage(wanted.storage), wanted.mark)
        target = part_of(wanted.storage, DATA)
    send_dataset(folder, target, data_name(task), Telling(server, platform.node()))
    return True

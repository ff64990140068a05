"""A run on a machine that shares no files with that of the sweep.

    before   its data comes, unless it is here, and its last checkpoint, if it has one
    during   its log and its checkpoints are sent
    after    its results are sent, and nothing of it stays here

Checkpoints and data go through a storage that all machines reach, or else through the machine of
the sweep, whose files a server hands out.

Choice: what could not be sent at the end stays here, and is told.
"""

import platform
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from longarena.data.dataset import read_about
from longarena.data.handover import fetch_dataset
from longarena.data.server import RemoteStorage, Server
from longarena.data.storage import Storage, StorageError, confirm, open_storage, reason_of
from longarena.errors import Busy, UserError
from longarena.options import Options
from longarena.progress import Progress
from longarena.recipes.pretraining import start_of
from longarena.recipes.recipe import Recipe, build_task
from longarena.sweep.keeper import Keeper, KeptRun
from longarena.sweep.worker import Job, Outcome, carry_out
from longarena.tasks.base import Task, default_home
from longarena.training.loop import lock

# where runs live on a machine while they are done there
WORK = "work"
# the folders of the server, and those of a storage
RUNS, DATA = "runs", "data"
CHECKPOINTS = "checkpoints"


class AwayJob(Options):
    """A run to do, and how it is kept.

    `home` is what the machine of the sweep is called; `mark` is that of the storage, if there is
    one; `fingerprint` that of the sweep's data, if it is known.
    """

    recipe: Recipe
    threads: int
    until: int | None = None
    home: str
    storage: str | None = None
    mark: str = ""
    seconds_between: float = 60.0
    fingerprint: str = ""


def part_of(address: str, part: str) -> Storage:
    """Open the part of a storage that is for checkpoints, or for data."""
    return open_storage(f"{address.rstrip('/')}/{part}")


def data_name(task: Task) -> str:
    """Return what the data of a task is called in a storage."""
    home = default_home()
    return task.stored.folder(home).relative_to(home).as_posix()


def carry_out_away(job: AwayJob, server: Server) -> Outcome:
    """Bring a run to its end, with a server to reach the machine of the sweep by."""
    work = _work(job.recipe)
    there = Job(
        recipe=job.recipe,
        runs=work,
        store=work / "records",
        threads=job.threads,
        until=job.until,
    )
    outcome = carry_out(there, _kept(job, server))
    if outcome.state != "stopped":
        return outcome
    # its own words name a folder of this machine, where nothing stays
    return Outcome(state="stopped", reason=f"stopped, and kept in {job.storage or job.home}")


@contextmanager
def _kept(job: AwayJob, server: Server) -> Iterator[None]:
    """Fetch what a run needs; inside the block send what it makes, and the rest at the end."""
    progress = Telling(server, _name(job.recipe))
    home = RemoteStorage(server, RUNS, job.home)
    kept: Storage = home
    data: Storage = RemoteStorage(server, DATA, job.home)
    if job.storage is not None:
        confirm(open_storage(job.storage), job.mark)
        kept, data = part_of(job.storage, CHECKPOINTS), part_of(job.storage, DATA)
    _receive(job, data, progress)
    run, *starts = (
        KeptRun.of(recipe, _work(job.recipe), kept, home)
        for recipe in (job.recipe, start_of(job.recipe))
        if recipe is not None
    )
    with lock(run.folder):
        for start in starts:
            start.fetch_start(progress)
        run.fetch(progress)
    try:
        with Keeper([*starts, run], job.seconds_between, progress):
            yield
    finally:
        _leave([*starts, run], _work(job.recipe), progress)


def _work(recipe: Recipe) -> Path:
    """Return where a run lives here, with the run that it begins with."""
    return default_home() / WORK / recipe.id


def _receive(job: AwayJob, data: Storage, progress: Progress) -> None:
    """Fetch the data of a run unless it is here; refuse other data than the sweep's."""
    task = build_task(job.recipe)
    folder = task.stored.folder(default_home())
    if not fetch_dataset(data, data_name(task), folder, progress) or not job.fingerprint:
        return
    found = read_about(folder).fingerprint
    if found != job.fingerprint:
        raise UserError(
            f"{folder} on {platform.node()} holds other data than the sweep's (fingerprint "
            f"{found}, not {job.fingerprint}); delete it there"
        )


def _leave(runs: Sequence[KeptRun], work: Path, progress: Progress) -> None:
    """Send what is left of runs, and remove their folder; the last of them is locked."""
    try:
        with suppress(Busy), lock(runs[-1].folder):
            for run in runs:
                run.conclude()
            shutil.rmtree(work)
    except (OSError, StorageError) as error:
        progress.say(f"what could not be sent is in {work}: {reason_of(error)}")


class Telling(Progress):
    """Tells the machine of the sweep what happens here, and to whom."""

    def __init__(self, server: Server, who: str) -> None:
        self._server, self._who = server, who

    def say(self, line: str) -> None:
        with suppress(StorageError):
            self._server.say(f"{self._who}: {line}")


def _name(recipe: Recipe) -> str:
    """Say which run it is, and where it is done."""
    names = f"{recipe.task.name} {recipe.model.mixer} seed {recipe.seed}"
    return f"{names} ({recipe.id}) on {platform.node()}"

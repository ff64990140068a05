"""Copy a run to a storage where other machines find it, and bring it back from there.

Checkpoints are sent the oldest first, and the state of each after its tensors: whatever has been
sent when a machine dies can be gone on from, and ends with the same bits. That holds for the mean
of the last checkpoints, too, because no later one is there without those before it. What arrives is
read and compared with its digest; a damaged checkpoint is left out, and the one before it is taken.
"""

import re
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from longarena.data.storage import Missing, Storage, StorageError, fetch, read_text, send
from longarena.errors import UserError
from longarena.progress import SILENT, Progress
from longarena.recipes.recipe import Recipe
from longarena.training import checkpoint
from longarena.training.best import read_best
from longarena.training.checkpoint import named_steps, saved_steps, state_path, tensor_path
from longarena.training.folder import RunFolder

# a file of a checkpoint, also one that is not whole
CHECKPOINT = re.compile(r"\.?step-([0-9]+)\..*")


def name_of(recipe: Recipe) -> str:
    """Return what the run of a recipe is called in a storage."""
    return RunFolder.of(Path(), recipe).path.as_posix()


@dataclass
class Mirror:
    """A folder and its copy in a storage; a file that has not changed is not sent again."""

    folder: Path
    storage: Storage
    name: str
    _sent: dict[Path, tuple[int, int]] = field(default_factory=dict)

    def send(self, path: Path) -> None:
        """Copy a file of the folder to the storage."""
        stamp = _stamp(path)
        if self._sent.get(path) != stamp:
            send(path, self.storage, self.name_of(path))
            self._sent[path] = stamp

    def fetch(self, path: Path) -> None:
        """Copy a file of the folder from the storage."""
        fetch(self.storage, self.name_of(path), path)
        self._sent[path] = _stamp(path)

    def name_of(self, path: Path) -> str:
        """Return what a file of the folder is called in the storage."""
        return f"{self.name}/{path.relative_to(self.folder).as_posix()}"


def _stamp(path: Path) -> tuple[int, int]:
    """Return what changes when a file is written again."""
    found = path.stat()
    return found.st_mtime_ns, found.st_size


def send_checkpoints(run: RunFolder, mirror: Mirror) -> None:
    """Send the checkpoints that are new, and remove those that the run has dropped."""
    steps = saved_steps(run.checkpoints)
    if not steps:
        return
    mirror.send(run.recipe)
    for step in steps:
        mirror.send(tensor_path(run.checkpoints, step))
        mirror.send(state_path(run.checkpoints, step))
    forget_checkpoints(run, mirror, before=steps[0])


def forget_checkpoints(run: RunFolder, mirror: Mirror, before: float) -> None:
    """Remove from a storage the checkpoints of earlier steps."""
    # in this order the state of a checkpoint goes before its tensors
    for name in mirror.storage.names(mirror.name_of(run.checkpoints)):
        found = CHECKPOINT.fullmatch(name)
        if found and int(found[1]) < before:
            mirror.storage.remove(mirror.name_of(run.checkpoints / name))


def fetch_checkpoints(run: RunFolder, mirror: Mirror, progress: Progress = SILENT) -> int:
    """Bring a run's checkpoints here if they are further than those here; return the last step.

    One that is damaged is left out; 0 if none was brought.
    """
    storage = mirror.storage
    steps = named_steps(storage.names(mirror.name_of(run.checkpoints)))
    if max(steps, default=0) <= run.last_checkpoint():
        return 0
    _check_recipe(run, mirror)
    intact = 0
    # the oldest first here, too: what a killed process has brought is gone on with, not relied on
    for step in steps:
        fault = _fetch_one(run, mirror, step)
        intact = intact if fault else step
        if fault:
            progress.say(f"the checkpoint of step {step} in {storage.title} is damaged ({fault})")
    if intact:
        progress.say(f"the checkpoint of step {intact} came from {storage.title}")
    return intact


def _fetch_one(run: RunFolder, mirror: Mirror, step: int) -> str:
    """Bring one checkpoint; if anything is wrong with it, say what, and remove it here."""
    paths = tensor_path(run.checkpoints, step), state_path(run.checkpoints, step)
    fault = ""
    try:
        for path in paths:
            mirror.fetch(path)
    except Missing as error:
        fault = str(error)
    try:
        checkpoint.read(run.checkpoints, step)
    except (OSError, ValueError) as error:
        fault = fault or str(error)
        for path in reversed(paths):
            path.unlink(missing_ok=True)
    return fault


def _check_recipe(run: RunFolder, mirror: Mirror) -> None:
    """Refuse checkpoints of another recipe."""
    with suppress(Missing):
        text = read_text(mirror.storage, mirror.name_of(run.recipe))
        try:
            found = Recipe.model_validate_json(text).id
        except ValueError:
            found = "unknown"
        if found != run.path.name:
            raise StorageError(
                f"{mirror.storage.title} holds run {found} under the name of {mirror.name}; "
                "delete it there, or give another storage"
            )


def fetch_results(run: RunFolder, mirror: Mirror) -> bool:
    """Bring what a run has found; return False, and leave nothing, if it has not ended there."""
    if run.record.name not in mirror.storage.names(mirror.name):
        return False
    for path in (run.recipe, run.log, run.best, run.answers, run.record):
        with suppress(Missing):
            mirror.fetch(path)
    try:
        read_best(run)
    except UserError:  # it is damaged
        run.forget()
        return False
    return True


def send_results(run: RunFolder, mirror: Mirror) -> None:
    """Send what a run leaves behind, the record last."""
    for path in (run.recipe, run.errors, run.log, run.best, run.answers, run.record):
        if path.is_file():
            mirror.send(path)

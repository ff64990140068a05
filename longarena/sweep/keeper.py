"""Keep a run while it trains: a thread sends what is new, so training does not wait for it.

A storage that fails takes nothing from the run but its safety: that is told once, and tried again.
"""

import math
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from longarena.data.storage import Missing, Storage, StorageError, reason_of
from longarena.progress import SILENT, Progress
from longarena.recipes.recipe import Recipe
from longarena.sweep.keeping import (
    Mirror,
    fetch_checkpoints,
    fetch_results,
    forget_checkpoints,
    name_of,
    send_checkpoints,
    send_results,
)
from longarena.training.folder import RunFolder

SECONDS_BETWEEN_LOOKS = (0.2, 5.0)


@dataclass
class KeptRun:
    """The folder of a run on a machine that it may lose, and where it is kept.

    Checkpoints go to one storage; the log and the results go home, to the machine of the sweep.
    """

    folder: RunFolder
    kept: Mirror
    home: Mirror
    has_ended: bool = False
    _step: int = 0
    _sent_at: float = -math.inf

    @classmethod
    def of(cls, recipe: Recipe, work: Path, kept: Storage, home: Storage) -> "KeptRun":
        """Name the places of a recipe's run."""
        folder, name = RunFolder.of(work, recipe), name_of(recipe)
        return cls(folder, Mirror(folder.path, kept, name), Mirror(folder.path, home, name))

    def fetch(self, progress: Progress) -> None:
        """Bring the run here if it has come further elsewhere."""
        if fetch_checkpoints(self.folder, self.kept, progress):
            with suppress(Missing):
                self.home.fetch(self.folder.log)

    def fetch_start(self, progress: Progress) -> None:
        """Bring a run here that another begins with, and that may have ended elsewhere."""
        self.has_ended = fetch_results(self.folder, self.home)
        if not self.has_ended:
            self.fetch(progress)

    def look(self, seconds: float) -> None:
        """Send what is new; a checkpoint only if the last was sent so many seconds ago."""
        if self.folder.record.is_file():
            self.conclude()
            return
        if self.folder.log.is_file():
            self.home.send(self.folder.log)
        step = self.folder.last_checkpoint()
        if step > self._step and time.monotonic() - self._sent_at >= seconds:
            send_checkpoints(self.folder, self.kept)
            self._step, self._sent_at = step, time.monotonic()

    def conclude(self) -> None:
        """Send all that is left; once the run has a record, nobody needs its checkpoints."""
        if self.has_ended:
            return
        send_results(self.folder, self.home)
        self.has_ended = self.folder.record.is_file()
        if self.has_ended and self.kept.storage != self.home.storage:
            forget_checkpoints(self.folder, self.kept, before=math.inf)
            self.kept.storage.remove(self.kept.name_of(self.folder.recipe))
        else:
            send_checkpoints(self.folder, self.kept)


class Keeper:
    """Looks at runs while they train, and sends what is new."""

    def __init__(
        self, runs: Sequence[KeptRun], seconds: float, progress: Progress = SILENT
    ) -> None:
        self.runs, self.seconds, self.progress = runs, seconds, progress
        self._has_told, self._is_over = False, threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)

    def __enter__(self) -> "Keeper":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _work(self) -> None:
        shortest, longest = SECONDS_BETWEEN_LOOKS
        while not self._is_over.wait(min(max(self.seconds, shortest), longest)):
            try:
                for run in self.runs:
                    run.look(self.seconds)
            except FileNotFoundError:
                pass  # the run has just dropped that checkpoint for a later one
            except (OSError, StorageError) as error:
                self._tell(error)

    def _tell(self, error: Exception) -> None:
        if not self._has_told:
            self._has_told = True
            self.progress.say(f"the run goes on, but is not kept: {reason_of(error)}")

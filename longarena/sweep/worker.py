"""One run in a process of its own: a job comes in as a line, an outcome goes out as a line.

The job comes through standard input, which stays open as long as the sweep lives. When it closes,
the sweep is gone, and the run saves itself and stops, as on Ctrl-C. The outcome is the last line
of standard output. Ctrl-C is held back until the run takes its first step: an interrupted import
leaves a process that cannot work, or that has lost the request.
"""

import os
import signal
import sys
import threading
import traceback
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Literal

from longarena.data.files import write_atomically
from longarena.errors import Busy, MixerError, UserError
from longarena.options import Options
from longarena.progress import SILENT, Progress
from longarena.recipes.recipe import Recipe, build_task
from longarena.records.record import RunRecord
from longarena.runtime import set_up
from longarena.tasks.base import default_home
from longarena.tasks.prepare import obtain
from longarena.training.folder import RunFolder
from longarena.training.loop import train
from longarena.training.stop import Interrupted
from longarena.training.trial import Trial, try_until


class Job(Options):
    """A run to do, and its number of threads; with `until` it is tried up to that step only.

    With an `accelerator` it sees that GPU alone.
    """

    recipe: Recipe
    runs: Path
    store: Path
    threads: int
    until: int | None = None
    accelerator: str | None = None


class Outcome(Options):
    """How a run ended: `busy` if another process is using it, `killed` if its own process was."""

    state: Literal["finished", "stopped", "busy", "failed", "killed"]
    reason: str = ""
    record: RunRecord | None = None
    trial: Trial | None = None


def carry_out(job: Job, around: AbstractContextManager[None] | None = None) -> Outcome:
    """Bring a run to its end; every failure is an outcome, except bugs of this program.

    `around` surrounds the work, and its failures are outcomes, too.
    """
    try:
        set_up(job.threads)
        with around or nullcontext():
            prepare_data(job.recipe)
            return _bring(job)
    except Busy as busy:
        return Outcome(state="busy", reason=str(busy))
    except UserError as error:
        return Outcome(state="failed", reason=str(error))
    except Interrupted as stop:
        return Outcome(state="stopped", reason=str(stop))
    except KeyboardInterrupt:
        return Outcome(state="stopped", reason="stopped outside its steps")


def _bring(job: Job) -> Outcome:
    """Bring a run to its end, or to the step up to which it is tried."""
    try:
        if job.until is None:
            record = train(job.recipe, job.runs, store=job.store)
            return Outcome(state="finished", record=record)
        return Outcome(state="finished", trial=try_until(job.recipe, job.until, job.runs))
    except MixerError as error:
        _keep_errors(job, error)
        raise


def _keep_errors(job: Job, error: MixerError) -> None:
    """Keep where in the user's own mixer an error came from."""
    folder = RunFolder.of(job.runs, job.recipe)
    write_atomically(folder.errors, "".join(traceback.format_exception(error)))


def prepare_data(recipe: Recipe, progress: Progress = SILENT) -> None:
    """Prepare the data of a recipe; wait while another process prepares it."""
    obtain(build_task(recipe), default_home(), progress)


def _stop_with_the_sweep() -> None:
    """Wait for standard input to close, then stop as on Ctrl-C."""
    # not through sys.stdin, whose lock a waiting thread would hold when the process ends
    while os.read(sys.stdin.fileno(), 1):
        pass
    os.kill(os.getpid(), signal.SIGINT)


def main() -> None:
    """Do the job that is on standard input."""
    # a sweep that was started in the background ignores Ctrl-C, and its workers would too
    signal.signal(signal.SIGINT, signal.default_int_handler)
    job = Job.model_validate_json(sys.stdin.readline())
    threading.Thread(target=_stop_with_the_sweep, daemon=True).start()
    if job.accelerator is not None:
        os.environ["CUDA_VISIBLE_DEVICES"] = job.accelerator
    outcome = carry_out(job)
    sys.stdout.write(outcome.model_dump_json() + "\n")
    sys.stdout.flush()

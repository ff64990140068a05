"""Workers on this machine: each run in a process of its own, a fixed number of them at a time.

They are forked by a process that has imported what they need, which saves each of them seconds. A
worker that crashes or is killed does not affect the others, and its end is an outcome like any
other. Every worker has its share of the cores, and of the GPUs if there are any.

Choice: by default one worker per GPU, or per core: many runs with one thread each do more work in
        an hour than one run with many. `--workers` asks for fewer where memory is short.
"""

import os
import signal
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from typing import IO

import torch

from longarena.data.files import write_atomically
from longarena.fork_server import ForkServer
from longarena.progress import Progress
from longarena.recipes.recipe import Recipe
from longarena.sweep.plan import Places
from longarena.sweep.worker import Job, Outcome, prepare_data
from longarena.training.folder import RunFolder


@dataclass(frozen=True)
class Pool:
    """How many workers there are, with how many threads each, and the GPUs they share."""

    workers: int
    threads: int
    accelerators: tuple[str, ...] = ()

    def fork_server(self) -> ForkServer:
        """Return a process that forks workers."""
        # threads that wait must sleep, or they take the cores that others need
        given = {"OMP_NUM_THREADS": str(self.threads), "OMP_WAIT_POLICY": "PASSIVE"}
        return ForkServer("longarena.sweep.worker", given)

    def accelerator(self, place: int) -> str | None:
        """Return the GPU of the worker at a place of the pool, if there are any.

        >>> Pool(workers=3, threads=1, accelerators=("0", "1")).accelerator(2)
        '0'
        """
        return self.accelerators[place % len(self.accelerators)] if self.accelerators else None


def pool(workers: int | None, threads: int | None) -> Pool:
    """Divide this machine among workers; a number that is not given follows from the others."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return divide(cores or 1, _accelerators(), workers, threads)


def divide(
    cores: int, accelerators: tuple[str, ...], workers: int | None, threads: int | None
) -> Pool:
    """Divide cores among workers.

    >>> divide(8, (), None, None), divide(8, (), 3, None), divide(8, (), None, 4)
    (Pool(workers=8, threads=1, accelerators=()), Pool(workers=3, threads=2, accelerators=()), \
Pool(workers=2, threads=4, accelerators=()))
    """
    if workers is None:
        workers = len(accelerators) or max(1, cores // (threads or 1))
    return Pool(workers, threads or max(1, cores // workers), accelerators)


def _accelerators() -> tuple[str, ...]:
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if not torch.cuda.is_available():
        return ()
    return tuple(visible.split(",") if visible else map(str, range(torch.cuda.device_count())))


class LocalCrew:
    """Processes that each do one run; use it as a context manager, which ends them all."""

    def __init__(self, places: Places, pool: Pool) -> None:
        self.places, self.pool = places, pool
        self._workers: dict[int, _Worker] = {}
        self._closing = ExitStack()

    def __enter__(self) -> "LocalCrew":
        return self

    def __exit__(self, *_: object) -> None:
        with self._closing:
            for worker in self._workers.values():
                worker.kill()

    @cached_property
    def _fork_server(self) -> ForkServer:
        """Start it with the first worker: a sweep may have nothing to do."""
        with _holding_back_interrupts():
            return self._closing.enter_context(self.pool.fork_server())

    @property
    def num_workers(self) -> int:
        """How many runs are done at a time."""
        return self.pool.workers

    @property
    def has_room(self) -> bool:
        """Whether one more run can be started."""
        return len(self._workers) < self.pool.workers

    def prepare(self, recipe: Recipe, progress: Progress) -> None:
        """Prepare the data of a recipe on this machine."""
        prepare_data(recipe, progress)

    def start(self, recipe: Recipe, until: int | None = None) -> None:
        """Start the run of a recipe, or try it up to a step."""
        place = min(set(range(self.pool.workers)) - set(self._workers))
        job = Job(
            recipe=recipe,
            runs=self.places.runs,
            store=self.places.store,
            threads=self.pool.threads,
            until=until,
            accelerator=self.pool.accelerator(place),
        )
        self._workers[place] = _Worker(job, self._fork_server)

    def ended(self) -> list[tuple[Recipe, Outcome]]:
        """Return the runs whose processes have ended since the last call."""
        over = {place: worker for place, worker in self._workers.items() if worker.is_over}
        for place in over:
            del self._workers[place]
        return [(worker.job.recipe, worker.outcome()) for worker in over.values()]

    def news(self) -> list[str]:
        """Return nothing: a worker here says what it has to say when it ends."""
        return []

    def stop(self) -> None:
        """Ask every run to save itself and end."""
        for worker in self._workers.values():
            worker.ask_to_stop()


class _Worker:
    """The process of one run (worker.py)."""

    def __init__(self, job: Job, fork_server: ForkServer) -> None:
        self.job = job
        self._fork_server = fork_server
        self._exit_code: int | None = None
        # files, not pipes: a run must go on even if nobody reads its output
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 - closed when the run has ended
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115
        theirs, ours = os.pipe()
        self._input = os.fdopen(ours, "wb")
        self._pid = fork_server.fork([theirs, self._output.fileno(), self._errors.fileno()])
        os.close(theirs)
        # a worker that has ended is noticed by its missing outcome
        with suppress(BrokenPipeError):
            self._input.write(job.model_dump_json().encode() + b"\n")
            self._input.flush()

    @property
    def is_over(self) -> bool:
        if self._exit_code is None:
            self._exit_code = self._fork_server.poll(self._pid)
        return self._exit_code is not None

    def ask_to_stop(self) -> None:
        if not self.is_over:
            os.kill(self._pid, signal.SIGINT)

    def kill(self) -> None:
        if not self.is_over:
            os.kill(self._pid, signal.SIGKILL)
            self._exit_code = self._fork_server.wait(self._pid)
        self._close()

    def outcome(self) -> Outcome:
        """Read how the run ended; keep the errors of a failed one in its folder."""
        output, errors = _read(self._output), _read(self._errors)
        self._close()
        lines, code = output.strip().splitlines(), self._exit_code or 0
        if code == 0 and lines:
            return Outcome.model_validate_json(lines[-1])
        if code < 0:
            name = signal.Signals(-code).name
            return Outcome(state="killed", reason=f"killed by signal {-code} ({name}){_hint(code)}")
        folder = RunFolder.of(self.job.runs, self.job.recipe)
        write_atomically(folder.errors, errors)
        said = errors.strip().splitlines()
        return Outcome(state="failed", reason=said[-1] if said else f"exit code {code}")

    def _close(self) -> None:
        for file in (self._input, self._output, self._errors):
            with suppress(BrokenPipeError):
                file.close()


@contextmanager
def _holding_back_interrupts() -> Iterator[None]:
    """Let processes that are started in the block hold back SIGINT until they train (stop.py)."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _read(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")


def _hint(code: int) -> str:
    return ", perhaps because memory was full" if code == -signal.SIGKILL else ""

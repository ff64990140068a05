"""The measuring process's side of its workers: start them, ask them, and make sure that they end.

If a worker is killed or takes too long, that is an answer like any other, and its last one. Who
killed it is not known; but the system counts how often it had to kill because memory was full.
"""

import os
import select
import signal
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import IO

from longarena.fork_server import ForkServer
from longarena.measure.messages import Answer, Command, Order


def fork_server() -> ForkServer:
    """Return a process that forks workers, whose threads share its cores well.

    By default a thread that waits for another one spins for milliseconds. If some other process
    uses the core that the other thread needs, both make no progress: a step took 50 times as long
    beside a load of 7 on two cores. If a thread sleeps at once, a virtual core stops, and its host
    is slow to start it again: steps of many small operations were 7 to 15 % slower, and uneven. So
    threads spin for as long as is usual between two operations, then sleep.
    """
    spins = os.environ.get("GOMP_SPINCOUNT", "10000")
    return ForkServer("longarena.measure.worker", {"GOMP_SPINCOUNT": spins})


class WorkerProcess:
    """A running worker; use it as a context manager."""

    def __init__(self, fork_server: ForkServer, order: Order, timeout_seconds: float) -> None:
        self.fork_server, self.timeout_seconds = fork_server, timeout_seconds
        self.exit_code: int | None = None
        self._kills_before = kills_by_full_memory()
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `end`
        their_input, ours = os.pipe()
        our_input, theirs = os.pipe()
        self._commands, self._answers = os.fdopen(ours, "w"), os.fdopen(our_input)
        self.pid = fork_server.fork([their_input, theirs, self._errors.fileno()])
        os.close(their_input)
        os.close(theirs)
        self._send(order.model_dump_json())

    def __enter__(self) -> "WorkerProcess":
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def ask(self, command: Command) -> Answer:
        """Send a command and return the answer."""
        if self.exit_code is not None:
            return Answer(status="failed", reason="the worker has ended")
        self._send(command.model_dump_json())
        readable, _, _ = select.select([self._answers], [], [], self.timeout_seconds)
        if not readable:
            self.end()
            return Answer(status="timed out", reason=f"no answer within {self.timeout_seconds:g} s")
        line = self._answers.readline()
        return Answer.model_validate_json(line) if line else self._last_words()

    def end(self) -> None:
        """End the process, whatever it is doing."""
        if self.exit_code is None:
            os.kill(self.pid, signal.SIGKILL)
            self.exit_code = self.fork_server.wait(self.pid)
        for file in (self._answers, self._commands, self._errors):
            _close(file)

    def _send(self, line: str) -> None:
        with suppress(BrokenPipeError):  # the worker has ended, which its missing answer will show
            self._commands.write(line + "\n")
            self._commands.flush()

    def _last_words(self) -> Answer:
        """Say why a worker ended without an answer."""
        self.exit_code = self.fork_server.wait(self.pid)
        if self.exit_code < 0:
            return killed(-self.exit_code, kills_by_full_memory() - self._kills_before)
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return Answer(status="failed", reason=lines[-1] if lines else f"exit code {self.exit_code}")


def kills_by_full_memory() -> int:
    """Return how often the system has killed a process because memory was full; 0 if unknown."""
    try:
        lines = Path("/proc/vmstat").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("oom_kill "))
    except (OSError, StopIteration):
        return 0


def killed(number: int, num_kills: int) -> Answer:
    """Say what is known of a worker that was killed by a signal.

    >>> killed(9, 0).status, killed(9, 0).reason
    ('failed', 'killed by signal 9 (SIGKILL); nobody knows by whom')
    """
    what = f"killed by signal {number} ({signal.Signals(number).name})"
    if number == signal.SIGKILL and num_kills > 0:
        return Answer(status="out of memory", reason=f"{what} while the system had no memory left")
    return Answer(status="failed", reason=f"{what}; nobody knows by whom")


def _close(file: IO[str] | IO[bytes]) -> None:
    """Close a pipe, even if its other end was closed with unread data."""
    with suppress(BrokenPipeError):
        file.close()

"""The measuring process's end of a worker: start it, ask it, and be sure that it ends.

A worker that is killed, most often because memory is full, or that takes too long, is an answer
like any other; after such an answer it is gone.
"""

import os
import select
import signal
import subprocess
import sys
import tempfile

from longarena.measure.messages import Answer, Command, Order

COMMAND = [sys.executable, "-m", "longarena.measure.worker"]


def _environment() -> dict[str, str]:
    """Have a worker find the user's own mixers as they were found here, and share its cores.

    By default a thread that waits for another one spins. If some other process has the core that
    the other one needs, both wait in vain: a step took 50 times as long beside a load of 6 on two
    cores, and as long as ever with threads that sleep.
    """
    here = {"PYTHONPATH": os.pathsep.join(sys.path)}
    return {"OMP_WAIT_POLICY": "PASSIVE"} | os.environ | here


class WorkerProcess:
    """A worker under way; use it as a context manager."""

    def __init__(self, order: Order, timeout_seconds: float) -> None:
        self.timeout_seconds = timeout_seconds
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `end`
        self._process = subprocess.Popen(
            COMMAND,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            env=_environment(),
            # Ctrl-C is for the measuring process; it ends its workers itself
            process_group=0,
        )
        self._send(order.model_dump_json())

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    def __enter__(self) -> "WorkerProcess":
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def ask(self, command: Command) -> Answer:
        """Have a command carried out."""
        self._send(command.model_dump_json())
        answers = self._process.stdout
        if answers is None:
            raise RuntimeError("a worker without a pipe")
        readable, _, _ = select.select([answers], [], [], self.timeout_seconds)
        if not readable:
            self.end()
            return Answer(status="timed out", reason=f"no answer within {self.timeout_seconds:g} s")
        line = answers.readline()
        return Answer.model_validate_json(line) if line else self._last_words()

    def end(self) -> None:
        """End the process, whatever it is doing."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        self._errors.close()

    def _send(self, line: str) -> None:
        pipe = self._process.stdin
        if pipe is None:
            raise RuntimeError("a worker without a pipe")
        try:
            pipe.write(line + "\n")
            pipe.flush()
        except BrokenPipeError:
            pass  # it has ended: the missing answer will tell

    def _last_words(self) -> Answer:
        """Say why a worker ended without an answer."""
        code = self._process.wait()
        if code == -signal.SIGKILL:
            return Answer(status="out of memory", reason="ended by the system")
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return Answer(status="failed", reason=lines[-1] if lines else f"exit code {code}")

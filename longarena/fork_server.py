"""A process that has imported everything once, and forks workers.

Importing torch takes seconds of a core, forking takes milliseconds, and a sweep or a session of
measurements has dozens of workers. The process that asks for them must not fork itself, because a
fork does not copy its threads; the fork server has none, since it never computes.

    asking process  -- three open files -->  fork server  -- fork -->  worker (these as 0, 1, 2)
                    <-- its number  --

A worker is what the function `main` of a module does. The fork server ends when the asking process
does, because that closes the other end of its socket; its workers find out by their input.
"""

import os
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module

from longarena.errors import UserError

NUM_FILES = 3
MESSAGE_BYTES = 64
STILL_RUNNING = b"running"


class ForkServer:
    """The asking process's side: start workers, and learn how they ended; a context manager."""

    def __init__(self, module: str, environment: Mapping[str, str]) -> None:
        """Workers do what `main` in the module does, with this added to their environment."""
        self._socket, theirs = socket.socketpair()
        # so that a worker finds the user's own mixers as this process does
        here = {"PYTHONPATH": os.pathsep.join(sys.path)}
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "longarena.fork_server", str(theirs.fileno()), module],
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                env=os.environ | environment | here,
                # Ctrl-C is for the asking process, which stops or ends its workers itself
                process_group=0,
            )

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    def __enter__(self) -> "ForkServer":
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()
        self._process.kill()
        self._process.wait()

    def fork(self, files: Sequence[int]) -> int:
        """Start a worker with these files as its input, output and errors; return its number."""
        return int(self._ask(b"fork", files))

    def wait(self, pid: int) -> int:
        """Wait for a worker to end; return its exit code."""
        return int(self._ask(b"wait %d" % pid))

    def poll(self, pid: int) -> int | None:
        """Return the exit code of a worker if it has ended."""
        answer = self._ask(b"poll %d" % pid)
        return None if answer == STILL_RUNNING else int(answer)

    def _ask(self, message: bytes, files: Sequence[int] = ()) -> bytes:
        answer = b""
        with suppress(BrokenPipeError, ConnectionResetError):
            socket.send_fds(self._socket, [message], files)
            answer = self._socket.recv(MESSAGE_BYTES)
        if not answer:
            raise UserError(
                "the process that starts workers has ended, perhaps because memory was full; "
                "the same command goes on"
            )
        return answer


def main() -> None:
    """Fork a worker for every three files, and say how one ended when asked by its number."""
    work = import_module(sys.argv[2]).main
    # torch's optimisers import it when they are first used, which takes each worker seconds
    import_module("torch._dynamo")
    asking = socket.socket(fileno=int(sys.argv[1]))
    while True:
        message, files, _, _ = socket.recv_fds(asking, MESSAGE_BYTES, NUM_FILES)
        if not message:
            os._exit(0)  # the other end is closed
        if not files:
            asking.sendall(_say_how_it_ended(*message.split()))
            continue
        pid = os.fork()
        if not pid:
            break
        for file in files:
            os.close(file)
        asking.sendall(b"%d" % pid)
    asking.close()
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    work()


def _say_how_it_ended(asked: bytes, pid: bytes) -> bytes:
    ended, status = os.waitpid(int(pid), os.WNOHANG if asked == b"poll" else 0)
    return b"%d" % os.waitstatus_to_exitcode(status) if ended else STILL_RUNNING


if __name__ == "__main__":
    main()

"""A process that has imported everything once, and forks workers.

Importing torch takes seconds of a core, forking takes milliseconds, and a session has dozens of
workers. The measuring process itself must not fork, because a fork does not copy its threads; the
fork server has none, since it never computes.

    measuring process  -- three open files -->  fork server  -- fork -->  worker (these as 0, 1, 2)
                       <-- its number  --

The fork server ends when the measuring process does, because that closes the other end of its
socket.
"""

import os
import socket
import sys

# torch's optimisers import it when they are first used, which takes each worker a second or two
import torch._dynamo  # noqa: F401

from longarena.measure.worker import main as work

NUM_FILES = 3


def main() -> None:
    """Fork a worker for every three files, and say how one ended when asked by its number."""
    with socket.socket(fileno=int(sys.argv[1])) as parent:
        while True:
            message, files, _, _ = socket.recv_fds(parent, 64, NUM_FILES)
            if not message:
                os._exit(0)  # the other end is closed
            if files:
                parent.sendall(f"{fork_worker(parent, files)}\n".encode())
            else:
                _, status = os.waitpid(int(message), 0)
                parent.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())


def fork_worker(parent: socket.socket, files: list[int]) -> int:
    """Start a worker with these files as its input, output and errors."""
    pid = os.fork()
    if pid:
        for file in files:
            os.close(file)
        return pid
    parent.close()
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    try:
        work()
    finally:
        os._exit(1)


if __name__ == "__main__":
    main()

"""Where workers are born: a process that has imported everything once, and forks.

To import torch takes seconds of a core, to fork takes milliseconds, and a session has dozens of
workers. The measuring process itself must not fork, for its threads would not come along; the
nursery has none, since it never computes.

    measuring process  -- three open files -->  nursery  -- fork -->  worker with these as 0, 1, 2
                       <-- its number  --

The nursery ends when the measuring process does: then nobody holds the other end of its socket.
"""

import os
import socket
import sys

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
    """Start a worker that reads, answers and complains through the given files."""
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

"""A fork server says how its workers ended, and whoever asks learns if it is gone itself."""

import os
import signal

import pytest

from longarena.errors import UserError
from longarena.fork_server import ForkServer


@pytest.fixture
def files():
    """Three files for a worker, whose input stays open as long as the test."""
    theirs, ours = os.pipe()
    nowhere = os.open(os.devnull, os.O_WRONLY)
    yield [theirs, nowhere, nowhere]
    for file in (theirs, ours, nowhere):
        os.close(file)


def test_a_worker_runs_until_it_ends_and_its_end_is_told(fork_server, files):
    server = fork_server()
    pid = server.fork(files)
    assert server.poll(pid) is None
    os.kill(pid, signal.SIGKILL)
    assert server.wait(pid) == -signal.SIGKILL


def test_a_server_that_is_gone_is_one_line_for_whoever_asks(files):
    with ForkServer("longarena.sweep.worker", {}) as server:
        os.kill(server.pid, signal.SIGKILL)
        for ask in (lambda: server.fork(files), lambda: server.poll(1)):
            with pytest.raises(UserError, match="the same command goes on"):
                ask()

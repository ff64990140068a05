"""Workers answer, whatever happens to them, and never outlive the process that asked them."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from longarena.measure.messages import Command, Order
from longarena.measure.process import WorkerProcess
from longarena.measure.work import Shape

SHAPE = Shape(width=16, depth=1, num_heads=2, mlp_width=16)
TURN = Command(do="turn", step="train")


def worker(fork_server, mixer, timeout_seconds=120.0, memory_limit_bytes=None):
    order = Order(
        model=SHAPE.with_mixer(f"measure.own_mixers:{mixer}", {}),
        length=32,
        batch_size=2,
        threads=1,
        memory_limit_bytes=memory_limit_bytes,
    )
    return WorkerProcess(fork_server, order, timeout_seconds)


def is_alive(pid):
    """Whether a process runs; one that has ended and that nobody asked about does not."""
    listed = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], check=False, capture_output=True)
    return listed.stdout.strip()[:1] not in (b"", b"Z")


def test_an_allocation_beyond_the_limit_fails_whatever_the_mixer_prints(fork_server):
    with worker(fork_server(), "TalkativeHog", memory_limit_bytes=1 << 20) as process:
        assert process.ask(TURN).status == "out of memory"


@pytest.mark.parametrize(("kills", "status"), [(0, "failed"), (1, "out of memory")])
def test_of_a_killed_worker_is_said_what_is_known(fork_server, monkeypatch, kills, status):
    with worker(fork_server(), "Plain") as process:
        os.kill(process.pid, signal.SIGKILL)
        known = process._kills_before + kills
        # the package has a function `measure`, which hides the folder from a dotted name
        module = sys.modules["longarena.measure.process"]
        monkeypatch.setattr(module, "kills_by_full_memory", lambda: known)
        answer = process.ask(TURN)
    assert answer.status == status
    assert "killed by signal 9 (SIGKILL)" in answer.reason


def test_a_worker_that_takes_too_long_is_ended(fork_server):
    with worker(fork_server(), "Plain", timeout_seconds=0.01) as process:
        assert process.ask(TURN).status == "timed out"
        assert not is_alive(process.pid)
        assert process.ask(TURN).status == "failed"


def test_a_worker_that_ends_by_itself_leaves_its_last_words(fork_server):
    with worker(fork_server(), "Leaving") as process:
        answer = process.ask(TURN)
        assert process.exit_code == 3
    assert (answer.status, answer.reason) == ("failed", "my last words")


# a test run in the background may have SIGINT ignored, which processes pass on to their children
PARENT = """
import signal
from longarena.measure.process import fork_server
from measure.test_process import TURN, worker
signal.signal(signal.SIGINT, signal.default_int_handler)
server = fork_server()
process = worker(server, "Endless")
print(process.pid, server.pid, flush=True)
process.ask(TURN)
"""


@pytest.mark.parametrize(
    "how", [signal.SIGKILL, pytest.param(signal.SIGINT, marks=pytest.mark.everywhere)]
)
def test_workers_end_with_the_process_that_started_them(how):
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])},
    )
    with parent:
        pids = [int(word) for word in parent.stdout.readline().split()]
        assert all(map(is_alive, pids))
        parent.send_signal(how)
        parent.wait(timeout=60)
    deadline = time.monotonic() + 60
    while any(map(is_alive, pids)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(map(is_alive, pids))

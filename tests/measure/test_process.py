"""Workers answer, whatever happens to them, and never outlive the process that asked them."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from longarena.measure import process as process_module
from longarena.measure.messages import Command, Order
from longarena.measure.process import WorkerProcess
from longarena.measure.work import Shape

SHAPE = Shape(width=16, depth=1, num_heads=2, mlp_width=16)
TURN = Command(do="turn", step="train")


def worker(mixer, timeout_seconds=120.0, memory_limit_bytes=None):
    order = Order(
        model=SHAPE.with_mixer(f"measure.own_mixers:{mixer}", {}),
        length=32,
        batch_size=2,
        threads=1,
        memory_limit_bytes=memory_limit_bytes,
    )
    return WorkerProcess(order, timeout_seconds)


def is_alive(pid):
    """Whether a process runs; one that has ended and that nobody asked about does not."""
    listed = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], check=False, capture_output=True)
    return listed.stdout.strip()[:1] not in (b"", b"Z")


def test_an_allocation_beyond_the_limit_fails_whatever_the_mixer_prints():
    with worker("TalkativeHog", memory_limit_bytes=1 << 20) as process:
        assert process.ask(TURN).status == "out of memory"
        assert is_alive(process.pid)


def test_a_killed_worker_counts_as_out_of_memory():
    with worker("Plain") as process:
        os.kill(process.pid, signal.SIGKILL)
        assert process.ask(TURN).status == "out of memory"


def test_a_worker_that_takes_too_long_is_ended():
    with worker("Plain", timeout_seconds=0.01) as process:
        assert process.ask(TURN).status == "timed out"
        assert not is_alive(process.pid)


def test_a_worker_that_ends_by_itself_leaves_its_last_words(monkeypatch):
    monkeypatch.setattr(process_module, "COMMAND", [sys.executable, "-c", "import nowhere"])
    with worker("Plain") as process:
        answer = process.ask(TURN)
    assert answer.status == "failed"
    assert "nowhere" in answer.reason


PARENT = """
from measure.test_process import TURN, worker
process = worker("Endless")
print(process.pid, flush=True)
process.ask(TURN)
"""


@pytest.mark.parametrize(
    "how", [signal.SIGKILL, pytest.param(signal.SIGINT, marks=pytest.mark.slow)]
)
def test_a_worker_ends_with_the_process_that_started_it(how):
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])},
    )
    with parent:
        pid = int(parent.stdout.readline())
        assert is_alive(pid)
        parent.send_signal(how)
    deadline = time.monotonic() + 60
    while is_alive(pid) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not is_alive(pid)

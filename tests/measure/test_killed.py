"""A session that is killed with no chance to say goodbye, and started again."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from measure.test_session import tiny

from longarena.progress import Progress
from longarena.records.folder import read_records

# the second length takes far longer than the test
SESSION = """
import sys
from pathlib import Path
from measure.test_session import tiny
tiny(Path(sys.argv[1]), ["linear", "local"], lengths=[64, 262144], session="s")
"""


class Listening(Progress):
    """Keeps what is said."""

    def __init__(self):
        self.lines = []

    def say(self, line):
        self.lines.append(line)


def wait_for_measurements(store, count):
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        found = read_records(store).measurements if store.exists() else []
        if len(found) == count:
            return found
        time.sleep(0.05)
    raise TimeoutError("nothing was recorded")


@pytest.mark.everywhere
@pytest.mark.slow
def test_a_killed_session_goes_on_with_the_first_length_that_is_missing(tmp_path):
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])}
    process = subprocess.Popen([sys.executable, "-c", SESSION, str(tmp_path)], env=environment)
    try:
        before = wait_for_measurements(tmp_path, count=2)
    finally:
        process.kill()
        process.wait()
    assert [record.length for record in before] == [64, 64]

    listening = Listening()
    found = tiny(tmp_path, ["linear", "local"], lengths=[64, 128], session="s", progress=listening)
    assert [record.length for record in found] == [64, 64, 128, 128]
    assert sorted(before, key=lambda r: r.id) == sorted(found[:2], key=lambda r: r.id)
    assert "2 of 4 measured before in session s" in listening.lines[0]

"""Calling the command line as a user does: in a process of its own, in a folder of its own.

The fixture `run` (tests/conftest.py) calls it in this process, which is faster.
"""

import os
import subprocess
import sys
from pathlib import Path

from training.runs import SMALL

SMALL_WORDS = [word for change in SMALL for word in ("--set", change)]


def start(*words, folder, **environment):
    """Start a command; standard output and error are pipes."""
    return subprocess.Popen(
        [sys.executable, "-m", "longarena", *map(str, words)],
        cwd=folder,
        env=os.environ | {"OMP_NUM_THREADS": "1"} | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def call(*words, folder, **environment):
    """Run a command to its end; return its exit code, output and errors."""
    with start(*words, folder=Path(folder), **environment) as process:
        try:
            output, errors = process.communicate(timeout=300)
        finally:
            process.kill()
    return process.returncode, output, errors


def assert_refused(ended, answer):
    """Check that a command refused its input: exit code 2 and one line with the remedy."""
    code, output, errors = ended
    assert (code, output) == (2, "")
    assert answer in errors
    assert len(errors.splitlines()) == 1

"""The cases of a test on a device that is not there (`longarena/contract/fake_device.py`).

A registered backend stays for the life of a process, and an error in a hook of the backward pass
may end the process. So a test calls `outcomes`, which runs the cases of a module in one process of
its own and tells what became of each.
"""

import importlib
import json
import subprocess
import sys
import warnings
from pathlib import Path

from longarena.contract.fake_device import NAME, FakeDevice

__all__ = ["NAME", "PASSED", "FakeDevice", "outcomes"]

PASSED = "passed"


def outcomes(module, keys):
    """Call `module.run(key)` for every key in one process of its own; tell what became of each.

    The outcome is `passed`, or the error in a line.
    """
    child = subprocess.run(
        [sys.executable, __file__, module, json.dumps(keys)],
        capture_output=True,
        text=True,
        check=False,
    )
    told = dict(json.loads(line) for line in child.stdout.splitlines())
    return {key: told.get(key, f"not reached: {child.stderr[-2000:]}") for key in keys}


def _outcome(run, key):
    try:
        with warnings.catch_warnings(action="error"):
            run(key)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return PASSED


def _tell_outcomes(module, keys):
    run = importlib.import_module(module).run
    for key in keys:
        print(json.dumps([key, _outcome(run, key)]), flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))
    _tell_outcomes(sys.argv[1], json.loads(sys.argv[2]))

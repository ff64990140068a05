"""The cases of a test on a device that is not there (`longarena/contract/fake_device.py`).

A registered backend stays for the life of a process, and an error in a hook of the backward pass
may end the process. So a test calls `outcomes`, which runs its cases in a process that is forked
from this one, where torch is imported already, and tells what became of each.
"""

import json
import os
import warnings

import jaxtyping

from longarena.contract.fake_device import NAME, FakeDevice

__all__ = ["NAME", "PASSED", "FakeDevice", "outcomes"]

PASSED = "passed"


def outcomes(run, keys):
    """Call `run(key)` for every key in one process of its own; tell what became of each.

    The outcome is `passed`, or the error in a line.
    """
    told, tell = os.pipe()
    child = os.fork()
    if child == 0:
        _tell_outcomes(run, keys, tell)
    os.close(tell)
    with os.fdopen(told) as lines:
        found = dict(json.loads(line) for line in lines)
    _, status = os.waitpid(child, 0)
    return {key: found.get(key, f"not reached: it ended with status {status}") for key in keys}


def _tell_outcomes(run, keys, pipe):
    """Write a line for every key, and end this process; other tests check the shapes."""
    try:
        jaxtyping.config.update("jaxtyping_disable", True)
        for key in keys:
            os.write(pipe, json.dumps([key, _outcome(run, key)]).encode() + b"\n")
    finally:
        os._exit(0)


def _outcome(run, key):
    try:
        with warnings.catch_warnings(action="error"):
            run(key)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return PASSED

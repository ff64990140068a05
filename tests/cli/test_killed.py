"""A training that is killed with no chance to say goodbye, and started again."""

import json
import signal
import time

import pytest
from cli.commands import SMALL_WORDS, assert_refused, start

pytestmark = pytest.mark.slow

WORDS = ["train", "listops", "linear", *SMALL_WORDS, "--set", "steps=60", "--quiet", "--json"]


def exact(output):
    """The numbers of a record that must not depend on when it was killed."""
    record = json.loads(output)
    metrics = record["metrics"]
    curve = record["curve"] | {"seconds": None}
    return metrics["test"], metrics["valid"], metrics["best_step"], curve, record["answers"]


def test_while_it_trains_a_second_is_refused_and_killed_it_ends_with_the_same_numbers(
    run, tmp_path
):
    process = start(*WORDS, folder=tmp_path)
    wait_for_log(tmp_path, 6)
    refused = run(*WORDS)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert not list(tmp_path.glob("runs/*/*/*/record.json")), "it ended before it was killed"
    assert_refused(refused, "in use by another process")
    code, output, errors = run(*WORDS)
    assert code == 0, errors
    _, unbroken, _ = run(*WORDS, "--runs", "unbroken")
    assert exact(output) == exact(unbroken)


@pytest.mark.everywhere
def test_a_stopped_training_says_how_to_go_on(tmp_path):
    words = ["train", "listops", "linear", *SMALL_WORDS, "--set", "steps=100000"]
    process = start(*words, folder=tmp_path)
    try:
        wait_for_log(tmp_path, 1)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 130
        assert "the same command goes on from there" in errors
        assert "Traceback" not in errors
    finally:
        process.kill()
        process.communicate()


def wait_for_log(folder, lines):
    """Wait until a training has written this many lines to its log."""
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline:
        logs = list(folder.glob("runs/*/*/*/log.jsonl"))
        if logs and len(logs[0].read_text().splitlines()) >= lines:
            return
        time.sleep(0.005)
    raise TimeoutError("the training wrote nothing")

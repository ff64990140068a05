"""Sweeps whose workers are processes: killed, stopped, two at once.

Where only the workers matter, the sweep itself runs in this process, which saves its start.
"""

import json
import os
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from cli.commands import SMALL_WORDS, start

from longarena.records.folder import read_records

pytestmark = pytest.mark.slow

GRID = ["sweep", "--tasks", "listops", "--mixers", "linear,local", *SMALL_WORDS]
LONG = [*GRID, "--set", "steps=100000", "--workers", "2"]
ONE = ["sweep", "--tasks", "listops", "--mixers", "linear", *SMALL_WORDS]


def wait_until(condition, seconds=240):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = condition()
        if found:
            return found
        time.sleep(0.02)
    raise TimeoutError("it did not happen")


def workers(pid):
    """The workers of a process that sweeps, which the fork server has started for it."""
    servers = [child for child in children(pid) if is_worker(child)]
    return [worker for server in servers for worker in children(server)]


def children(pid):
    listed = [path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/children")]
    return [int(child) for child in " ".join(listed).split()]


def is_worker(pid):
    """Whether a process is a worker, or the fork server."""
    try:
        return b"longarena.sweep.worker" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
        return False


def logs(folder, lines=1):
    """The logs of runs that have got so far."""
    found = folder.glob("runs/*/*/*/log.jsonl")
    return [path for path in found if len(path.read_text().splitlines()) >= lines]


def records(folder):
    return read_records(folder / "runs" / "records")


@pytest.fixture
def sweep(tmp_path):
    """Start sweeps; none of them and none of their workers survives the test."""
    started = []

    def begin(*words, **environment):
        started.append(start(*words, folder=tmp_path, **environment))
        return started[-1]

    yield begin
    for process in started:
        process.kill()
        process.communicate()


@pytest.mark.everywhere
def test_a_sweep_trains_all_and_the_same_command_then_has_nothing_to_do(run, tmp_path):
    code, output, errors = run(*GRID, "--json", "--quiet")
    assert code == 0, errors
    assert errors == ""
    assert len(json.loads(output)["finished"]) == 2
    assert [run.recipe.model.mixer for run in records(tmp_path).runs] == ["linear", "local"]
    code, output, errors = run(*GRID, "--json")
    assert code == 0, errors
    assert len(json.loads(output)["skipped"]) == 2


@pytest.mark.everywhere
def test_a_tuning_in_processes_chooses_trains_and_says_where_to_look_further(run, tmp_path):
    words = [*ONE, "--tune", "optimiser.rate=1e30,1e-3", "--halve"]
    code, output, errors = run(*words, "--quiet")
    assert code == 0, errors
    assert "1 runs: 1 finished" in output or "1 run: 1 finished" in output
    [choice] = records(tmp_path).tunings
    assert f"listops linear: optimiser.rate={choice.recipe.optimiser.rate}, the best of 2" in output
    assert ("that was tried" in output) == bool(choice.edges)
    code, output, errors = run(*words, "--json")
    assert code == 0, errors
    found = json.loads(output)
    assert len(found["skipped"]) == 1
    assert found["tuning"][0]["chosen"] == choice.chosen.values


@pytest.fixture
def own_sweep(tmp_path):
    """Write a sweep with a mixer of one's own that breaks, and one that works."""
    (tmp_path / "unlucky.py").write_text(
        "from longarena.attention.linear import LinearAttention\n"
        "class Unlucky(LinearAttention):\n"
        "    def forward(self, x, mask, *more):\n"
        "        raise RuntimeError('out of luck')\n"
    )
    (tmp_path / "mine.py").write_text(
        "from training.runs import small_recipe\n"
        "def recipes():\n"
        "    return [small_recipe('unlucky:Unlucky'), small_recipe('linear')]\n"
    )
    yield "mine.py"
    sys.modules.pop("unlucky", None)


@pytest.mark.everywhere
def test_a_run_that_fails_is_recorded_and_the_exit_code_tells(run, tmp_path, own_sweep):
    code, output, errors = run("sweep", own_sweep, "--quiet")
    assert code == 1
    assert "Traceback" not in output + errors
    assert "1 finished, 0 skipped, 1 failed, 0 stopped" in output
    assert "RuntimeError: out of luck" in output
    [failure] = records(tmp_path).failures
    assert failure.error.startswith("the mixer unlucky:Unlucky raised in forward")
    assert failure.error.endswith("RuntimeError: out of luck")
    [said] = tmp_path.glob("runs/*/*/*/errors.txt")
    assert "Traceback" in said.read_text()


@pytest.mark.everywhere
def test_a_killed_worker_harms_no_other_and_its_run_goes_on(run, tmp_path):
    def kill_one():
        wait_until(lambda: len(logs(tmp_path)) == 2)
        os.kill(workers(os.getpid())[0], signal.SIGKILL)

    with ThreadPoolExecutor() as meanwhile:
        killing = meanwhile.submit(kill_one)
        # it looks at its results less often than the others, for it is to train for long
        rare = ["--set", "checkpoint_every=10", "--set", "evaluate_every=100"]
        code, output, errors = run(*GRID, "--set", "steps=300", *rare, "--workers", "2", "--json")
    killing.result()
    assert code == 0, errors
    assert len(json.loads(output)["finished"]) == 2
    assert "killed by signal 9 (SIGKILL)" in errors
    assert [run.metrics.steps for run in records(tmp_path).runs] == [300, 300]


@pytest.mark.everywhere
def test_a_worker_that_is_killed_again_and_again_is_a_failure(run, tmp_path):
    def kill_twice():
        for _ in range(2):
            [pid] = wait_until(lambda: workers(os.getpid()))
            os.kill(pid, signal.SIGKILL)
            wait_until(lambda pid=pid: pid not in workers(os.getpid()))

    with ThreadPoolExecutor() as meanwhile:
        killing = meanwhile.submit(kill_twice)
        code, output, errors = run(*ONE, "--set", "steps=100000")
    killing.result()
    assert code == 1, errors
    assert "failed: killed by signal 9 (SIGKILL), perhaps because memory was full" in output
    [failure] = records(tmp_path).failures
    assert failure.error.startswith("killed by signal 9")


def test_a_sweep_outlives_a_worker_goes_on_after_a_stop_and_takes_its_workers_along(
    tmp_path, sweep, run
):
    process = sweep(*LONG)
    wait_until(lambda: len(logs(tmp_path, lines=4)) == 2)  # with checkpoints
    killed, other = workers(process.pid)
    os.kill(killed, signal.SIGKILL)
    wait_until(lambda: len(set(workers(process.pid)) - {killed}) == 2)
    pids = workers(process.pid)
    assert other in pids
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=300)
    assert process.returncode == 130
    assert "killed by signal 9 (SIGKILL)" in errors
    assert "the same command goes on" in errors
    assert "Traceback" not in output + errors
    assert not any(map(is_worker, pids))
    code, output, _ = run(*LONG, "--dry-run", "--json")
    plan = json.loads(output)["runs"]
    assert code == 0
    assert [run["state"] for run in plan] == ["interrupted"] * 2
    steps = [run["step"] for run in plan]
    process = sweep(*LONG)
    resumed = logs(tmp_path)
    wait_until(lambda: all(_last_step(path) > max(steps) for path in resumed))
    assert all(_first_step(path) < min(steps) for path in resumed)
    pids = workers(process.pid)
    process.kill()
    process.communicate()
    assert len(pids) == 2
    wait_until(lambda: not any(map(is_worker, pids)), seconds=120)


@pytest.mark.everywhere
def test_a_stop_while_a_worker_still_starts_is_heard_and_no_failure(tmp_path, sweep):
    process = sweep(*ONE, "--set", "steps=100000")
    wait_until(lambda: workers(process.pid))
    assert not logs(tmp_path)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=300)
    assert process.returncode == 130, errors
    assert "0 failed, 1 stopped" in output
    assert records(tmp_path).failures == []


def _last_step(path):
    lines = path.read_text().splitlines()
    return json.loads(lines[-1])["step"] if lines and lines[-1].endswith("}") else 0


def _first_step(path):
    return json.loads(path.read_text().splitlines()[0])["step"]


@pytest.mark.everywhere
def test_two_sweeps_at_once_share_the_work_and_both_end_well(tmp_path, sweep, run):
    words = [*ONE, "--seeds", "2", "--workers", "1", "--json", "--quiet"]
    other = sweep(*words)
    ended = [run(*words), (other.wait(timeout=300), *other.communicate())]
    assert [code for code, *_ in ended] == [0, 0], ended
    results = [json.loads(output) for _, output, _ in ended]
    trained = [run["run"] for result in results for run in result["finished"]]
    # a run that was finished by one between the other's look and its start is only read there
    assert len(set(trained)) == 2
    assert all(len(r["finished"]) + len(r["skipped"]) == 2 for r in results)
    assert not any(result["failed"] for result in results)
    assert len(records(tmp_path).runs) == 2
    _, output, _ = run(*words)
    assert len(json.loads(output)["skipped"]) == 2, "the same command then has nothing to do"

"""Sweeps in processes, as a user starts them: killed, stopped, two at once."""

import json
import os
import signal
import time
from pathlib import Path

import pytest
from cli.commands import SMALL_WORDS, call, start

from longarena.store.folder import read_records

pytestmark = pytest.mark.slow

GRID = ["sweep", "--tasks", "listops", "--attention", "linear,local", *SMALL_WORDS]
LONG = [*GRID, "--set", "steps=100000", "--workers", "2"]


def wait_until(condition, seconds=240):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = condition()
        if found:
            return found
        time.sleep(0.02)
    raise TimeoutError("it did not happen")


def workers(process):
    """The processes that a sweep has started."""
    return [
        int(n) for n in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    ]


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


def test_a_sweep_trains_all_and_the_same_command_then_has_nothing_to_do(tmp_path):
    code, output, errors = call(*GRID, "--json", "--quiet", folder=tmp_path)
    assert code == 0, errors
    assert errors == ""
    assert len(json.loads(output)["finished"]) == 2
    assert [run.recipe.model.mixer for run in records(tmp_path).runs] == ["linear", "local"]
    code, output, errors = call(*GRID, "--json", folder=tmp_path)
    assert code == 0, errors
    assert len(json.loads(output)["skipped"]) == 2


def test_a_run_that_fails_is_recorded_and_the_exit_code_tells(tmp_path):
    path = _own_sweep(tmp_path)
    code, output, errors = call("sweep", "mine.py", "--quiet", folder=tmp_path, PYTHONPATH=path)
    assert code == 1
    assert "Traceback" not in output + errors
    assert "1 finished, 0 skipped, 1 failed, 0 stopped" in output
    assert "RuntimeError: out of luck" in output
    [failure] = records(tmp_path).failures
    assert failure.error == "RuntimeError: out of luck"
    [said] = tmp_path.glob("runs/*/*/*/errors.txt")
    assert "Traceback" in said.read_text()


def _own_sweep(folder):
    """Write a sweep with a mixer of one's own that breaks, and one that works."""
    (folder / "unlucky.py").write_text(
        "from longarena.attention.linear import LinearAttention\n"
        "class Unlucky(LinearAttention):\n"
        "    def forward(self, x, mask, *more):\n"
        "        raise RuntimeError('out of luck')\n"
    )
    (folder / "mine.py").write_text(
        "from training.runs import small_recipe\n"
        "def recipes():\n"
        "    return [small_recipe('unlucky:Unlucky'), small_recipe('linear')]\n"
    )
    return f"{folder}{os.pathsep}{Path(__file__).parent.parent}"


def test_a_killed_worker_harms_no_other_and_its_run_goes_on(tmp_path, sweep):
    words = [*GRID, "--set", "steps=300", "--workers", "2", "--json"]
    process = sweep(*words)
    wait_until(lambda: len(logs(tmp_path)) == 2)
    os.kill(workers(process)[0], signal.SIGKILL)
    output, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    assert len(json.loads(output)["finished"]) == 2
    assert "killed by signal 9 (SIGKILL)" in errors
    assert [run.metrics.steps for run in records(tmp_path).runs] == [300, 300]


def test_a_worker_that_is_killed_again_and_again_is_a_failure(tmp_path, sweep):
    words = ["sweep", "--tasks", "listops", "--attention", "linear", *SMALL_WORDS]
    process = sweep(*words, "--set", "steps=100000")
    for _ in range(2):
        [pid] = wait_until(lambda: workers(process))
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda pid=pid: pid not in workers(process))
    output, errors = process.communicate(timeout=300)
    assert process.returncode == 1, errors
    assert "failed: killed by signal 9 (SIGKILL), perhaps because memory was full" in output
    [failure] = records(tmp_path).failures
    assert failure.error.startswith("killed by signal 9")


def test_a_stopped_sweep_keeps_all_and_goes_on(tmp_path, sweep):
    process = sweep(*LONG)
    wait_until(lambda: len(logs(tmp_path)) == 2)
    pids = workers(process)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=300)
    assert process.returncode == 130
    assert "the same command goes on" in errors
    assert "Traceback" not in output + errors
    assert len(pids) == 2
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)
    code, output, _ = call(*LONG, "--dry-run", "--json", folder=tmp_path)
    plan = json.loads(output)["runs"]
    assert code == 0
    assert all(run["state"].startswith("interrupted at step") for run in plan)
    steps = [int(run["step"].split("/")[0]) for run in plan]
    process = sweep(*LONG)
    resumed = logs(tmp_path)
    wait_until(lambda: all(_last_step(path) > max(steps) for path in resumed))
    assert all(_first_step(path) < min(steps) for path in resumed)


def test_a_stop_while_a_worker_still_starts_is_heard_and_no_failure(tmp_path, sweep):
    process = sweep(*LONG)
    wait_until(lambda: len(workers(process)) == 2)
    time.sleep(1)
    assert not logs(tmp_path)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=300)
    assert process.returncode == 130, errors
    assert "0 failed, 2 stopped" in output
    assert records(tmp_path).failures == []


def _last_step(path):
    lines = path.read_text().splitlines()
    return json.loads(lines[-1])["step"] if lines and lines[-1].endswith("}") else 0


def _first_step(path):
    return json.loads(path.read_text().splitlines()[0])["step"]


def test_workers_stop_when_their_sweep_is_killed(tmp_path, sweep):
    process = sweep(*LONG)
    wait_until(lambda: len(logs(tmp_path)) == 2)
    pids = workers(process)
    process.kill()
    process.communicate()
    wait_until(lambda: not any(Path(f"/proc/{pid}/exe").exists() for pid in pids), seconds=120)


def test_two_sweeps_at_once_share_the_work_and_both_end_well(tmp_path, sweep):
    words = [*GRID, "--seeds", "2", "--workers", "1", "--json", "--quiet"]
    both = [sweep(*words), sweep(*words)]
    results = []
    for process in both:
        output, errors = process.communicate(timeout=300)
        assert process.returncode == 0, errors
        results.append(json.loads(output))
    trained = [run["run"] for result in results for run in result["finished"]]
    # a run that was finished by one between the other's look and its start is only read there
    assert len(set(trained)) == 4
    assert all(len(r["finished"]) + len(r["skipped"]) == 4 for r in results)
    assert not any(result["failed"] for result in results)
    assert len(records(tmp_path).runs) == 4

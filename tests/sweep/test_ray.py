"""A Ray cluster of two nodes on loopback without a shared folder, one of which dies in a sweep.

What does not need Ray is tried without it in test_away.py.
"""

import io
import os
import re
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest
from rich.console import Console
from sweep.test_local import wait_until
from training.runs import small_recipe
from training.test_loop import without_clock

from longarena.errors import UserError
from longarena.records.folder import read_records
from longarena.sweep import on_ray, sweep
from longarena.sweep.cluster import LOOPBACK, STAY_ON_LOOPBACK, connect
from longarena.sweep.drive import _is_in_use
from longarena.training.best import read_best
from longarena.training.folder import RunFolder
from longarena.training.loop import train

pytestmark = pytest.mark.slow

# Ray reads it once, when it is imported
os.environ.update(STAY_ON_LOOPBACK)
ray = pytest.importorskip("ray")
NODE = {"num_cpus": 1, "object_store_memory": 80_000_000, "node_ip_address": LOOPBACK}
# a node that does not answer is given up after a second
HASTY = {"health_check_period_ms": 500, "health_check_failure_threshold": 2}
HEAD = {"include_dashboard": False, "_system_config": HASTY}
LONGER = ["steps=300", "checkpoint_every=20", "evaluate_every=100"]


# 127.0.0.1, ::1 and ::ffff:127.0.0.1 as the kernel writes them
LOOPBACKS = (
    "0100007F",
    "00000000000000000000000001000000",
    "0000000000000000FFFF00000100007F",
)


def listening():
    """The addresses on which this process and its descendants listen, as the kernel writes them.

    Other tests run beside this one, and what they listen on is not Ray's.
    """
    sockets = {str(link) for pid in descendants(os.getpid()) for link in open_files(pid)}
    tables = [Path(f"/proc/net/{name}").read_text() for name in ("tcp", "tcp6")]
    rows = [line.split() for table in tables for line in table.splitlines()[1:]]
    return {row[1] for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in sockets}


def descendants(pid):
    children = Path(f"/proc/{pid}/task/{pid}/children")
    found = {pid}
    with suppress(OSError):
        tasks = children.parent.parent.glob("*/children")
        for child in " ".join(task.read_text() for task in tasks).split():
            found |= descendants(int(child))
    return found


def open_files(pid):
    found = []
    with suppress(OSError):
        for entry in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):
                found.append(entry.readlink())
    return found


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """A node with one CPU and a home of its own; all its processes end with the tests."""
    from ray.cluster_utils import Cluster  # noqa: PLC0415

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        made = Cluster()
        made.add_node(**node(tmp_path_factory.mktemp("first")), **HEAD)
        yield made
        ray.shutdown()
        made.shutdown()


def node(home):
    return NODE | {"env_vars": {"LONGARENA_HOME": str(home)}}


@pytest.mark.everywhere
def test_what_a_run_leaves_on_another_machine_comes_home(tmp_path, cluster):
    addresses = listening()
    assert addresses
    assert all(address.startswith(LOOPBACKS) for address in addresses)
    recipe, said = small_recipe(), Console(file=io.StringIO(), width=200)
    run, places = RunFolder.of(tmp_path / "runs", recipe), (tmp_path / "runs", tmp_path / "records")
    with ThreadPoolExecutor() as other:
        is_taken = other.submit(wait_until, lambda: _is_in_use(run))
        sweep([recipe], places[0], store=places[1], crew=on_ray(cluster.address), console=said)
        assert is_taken.result()
    [record] = read_records(tmp_path / "records").runs
    assert run.read_answers(record).digest == record.answers
    assert read_best(run).state.step == record.metrics.best_step
    assert run.last_step() == recipe.steps
    assert " kB) came from the machine of the sweep" in said.file.getvalue()


@pytest.mark.everywhere
def test_a_run_whose_node_dies_goes_on_elsewhere_with_the_same_bits(tmp_path, cluster):
    second = cluster.add_node(**node(tmp_path / "second"))
    recipes = [small_recipe("linear", *LONGER, f"seed={seed}") for seed in range(2)]
    folders = [RunFolder.of(tmp_path / "runs", recipe) for recipe in recipes]
    ended_before = []

    def kill_when_both_train():
        wait_until(lambda: all(folder.last_checkpoint() for folder in folders))
        ended_before.extend(folder for folder in folders if folder.record.exists())
        cluster.remove_node(second, allow_graceful=False)

    killer = threading.Thread(target=kill_when_both_train)
    killer.start()
    said = Console(file=io.StringIO(), width=200)
    crew = on_ray(cluster.address, keep_minutes=0)
    done = sweep(recipes, tmp_path / "runs", store=tmp_path / "records", crew=crew, console=said)
    killer.join()
    assert ended_before == []
    assert [entry.standing for entry in done.entries] == ["finished"] * 2
    found = read_records(tmp_path / "records")
    assert sorted(run.recipe.seed for run in found.runs) == [0, 1]
    assert not found.failures
    lines = said.file.getvalue()
    [moved] = re.findall(r"seed (\d) .*: the checkpoint of step \d+ came from the machine", lines)
    unbroken = train(recipes[int(moved)], tmp_path / "unbroken")
    assert without_clock(done.entries[int(moved)].record) == without_clock(unbroken)


def test_without_ray_the_remedy_is_one_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UserError, match=r"pip install 'longarena\[ray\]'"):
        connect("auto")

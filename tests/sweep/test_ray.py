"""A Ray cluster of two nodes on loopback, one of which dies in the middle of a sweep."""

import os
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest
from sweep.test_local import wait_until
from training.runs import small_recipe

from longarena.errors import UserError
from longarena.records.folder import read_records
from longarena.sweep import on_ray, sweep
from longarena.sweep.ray import LOOPBACK, STAY_ON_LOOPBACK, connect

pytestmark = pytest.mark.slow

# Ray reads it once, when it is imported
os.environ.update(STAY_ON_LOOPBACK)
ray = pytest.importorskip("ray")
NODE = {"num_cpus": 1, "object_store_memory": 80_000_000, "node_ip_address": LOOPBACK}
LONGER = ["steps=400", "checkpoint_every=20", "evaluate_every=200"]


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


@pytest.fixture
def cluster(monkeypatch):
    """Two nodes with one CPU each; all their processes end with the test."""
    from ray.cluster_utils import Cluster  # noqa: PLC0415

    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    head = {**NODE, "include_dashboard": False}
    made = Cluster(initialize_head=True, head_node_args=head)
    yield made
    ray.shutdown()
    made.shutdown()


def test_no_run_is_lost_or_counted_twice_when_a_node_dies(tmp_path, cluster):
    second = cluster.add_node(**NODE)
    addresses = listening()
    assert addresses
    assert all(address.startswith(LOOPBACKS) for address in addresses)
    recipes = [small_recipe("linear", *LONGER, f"seed={seed}") for seed in range(3)]
    runs = tmp_path / "runs"
    ended_before = []

    def kill_when_both_train():
        wait_until(lambda: len({p.parent for p in runs.glob("*/*/*/checkpoint/*.json")}) == 2)
        ended_before.extend(runs.glob("*/*/*/record.json"))
        cluster.remove_node(second, allow_graceful=False)

    killer = threading.Thread(target=kill_when_both_train)
    killer.start()
    done = sweep(recipes, runs, store=tmp_path / "records", crew=on_ray(cluster.address))
    killer.join()
    assert ended_before == []
    assert [entry.standing for entry in done.entries] == ["finished"] * 3
    found = read_records(tmp_path / "records")
    assert sorted(run.recipe.seed for run in found.runs) == [0, 1, 2]
    assert not found.failures


def test_without_ray_the_remedy_is_one_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UserError, match=r"pip install 'longarena\[ray\]'"):
        connect("auto")

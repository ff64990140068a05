import gc
import os
import signal
import subprocess
import sys
from collections import Counter
from contextlib import ExitStack, nullcontext
from functools import cache
from importlib import import_module
from itertools import count
from pathlib import Path

import jaxtyping
import pytest
import torch

from longarena.runtime import keep_large_blocks

HOMES = count()
# numba compiles for half a minute what draws these, and keeps it beside the package
COMPILE = "from longarena.report.page.samples import samples; samples()"


@pytest.fixture(autouse=True, scope="session")
def steady_process():
    """One allocator setting, as the command line has it, one thread, and ears for Ctrl-C.

    The sums of the tests are small; a second thread would mostly wait, and wait longer where
    others compute beside it. A test run in the background may have SIGINT ignored, which it would
    pass on to the processes that it starts.
    """
    keep_large_blocks()
    torch.set_num_threads(1)
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def own_home(tmp_path_factory, monkeypatch):
    """Keep every test away from the user's data; few write any, so a folder is only named."""
    home = tmp_path_factory.getbasetemp() / "homes" / str(next(HOMES))
    monkeypatch.setenv("LONGARENA_HOME", str(home))


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    """Call the command line in this process; return exit code, output and errors."""
    # not at the top: what is imported before the tests are collected has its shapes not checked
    from longarena.cli.main import main  # noqa: PLC0415

    monkeypatch.chdir(tmp_path)

    def call(*words):
        monkeypatch.setattr(sys, "argv", ["longarena", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capsys.readouterr()
        return ended.value.code, captured.out, captured.err

    return call


@pytest.fixture(scope="session")
def fork_server():
    """A function: the process that forks what measures, started once for all tests that ask."""
    from longarena.measure.process import fork_server  # noqa: PLC0415

    with ExitStack() as stack:
        yield cache(lambda: stack.enter_context(fork_server()))


@pytest.fixture
def hasty(monkeypatch, fork_server):
    """Have little patience with what is measured: one short turn each, and no new fork server."""
    from longarena.measure.speed import StoppingRule  # noqa: PLC0415

    rule = StoppingRule(turn_seconds=0.02, min_turns=1, max_turns=1)
    # the package has a function `measure`, which hides the folder from a dotted name
    session = import_module("longarena.measure.session")
    for module in (import_module("longarena.measure"), session):
        monkeypatch.setattr(module, "StoppingRule", lambda **_: rule)
    monkeypatch.setattr(session, "fork_server", lambda: nullcontext(fork_server()))


@pytest.fixture
def indexed(monkeypatch):
    """Take every folder of records for large, every file for settled, and keep every index."""
    from longarena.records import folder, index  # noqa: PLC0415
    from longarena.training import listing  # noqa: PLC0415

    monkeypatch.setattr(folder, "SMALL", 0)
    monkeypatch.setattr(listing, "SMALL", 0)
    monkeypatch.setattr(index, "NUM_UNSAVED", 0)
    monkeypatch.setattr(index, "SETTLED_NS", -(10**12))


@pytest.fixture
def reads(monkeypatch):
    """Count how often each file of a record is read."""
    counts = Counter()

    def counting(read):
        def count(path, *args, **named):
            counts.update([path.name] if path.suffix == ".json" else [])
            return read(path, *args, **named)

        return count

    monkeypatch.setattr(Path, "read_bytes", counting(Path.read_bytes))
    monkeypatch.setattr(Path, "read_text", counting(Path.read_text))
    return counts


def pytest_addoption(parser):
    parser.addoption(
        "--everywhere",
        action="store_true",
        help="try every property on every mechanism and variant (make test-all)",
    )


def pytest_configure(config):
    """In a fresh clone, compile beside the tests what every worker would compile for itself."""
    if config.getoption("numprocesses", None) and not hasattr(config, "workerinput"):
        compiler = subprocess.Popen([sys.executable, "-c", COMPILE])
        config.add_cleanup(compiler.wait)


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Have the garbage collector never look at what is collected: it stays to the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_runtest_setup(item):
    """Check shapes where much is called once; everywhere that would be a third of the time."""
    is_asked = item.config.getoption("everywhere") or item.get_closest_marker("shapes")
    is_checked = is_asked and not item.get_closest_marker("slow")
    jaxtyping.config.update("jaxtyping_disable", not is_checked)


def pytest_collection_modifyitems(config, items):
    """Leave out what only `--everywhere` asks for; run the fast tests first.

    Of several workers the last begins with the slow ones, which wait for processes while the others
    compute.
    """
    if not config.getoption("everywhere"):
        left_out = [item for item in items if item.get_closest_marker("everywhere")]
        items[:] = [item for item in items if not item.get_closest_marker("everywhere")]
        config.hook.pytest_deselected(items=left_out)
    slow = [item for item in items if item.get_closest_marker("slow")]
    fast = [item for item in items if not item.get_closest_marker("slow")]
    # each worker is given a part of the list as it stands
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    first = len(items) * (workers - 1) // workers if workers > 1 else len(fast)
    items[:] = [*fast[:first], *slow, *fast[first:]]

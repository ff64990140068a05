import sys

import pytest
import torch

from longarena.runtime import keep_large_blocks


@pytest.fixture(autouse=True, scope="session")
def steady_process():
    """One allocator setting, as the command line has it, and one thread.

    The sums of the tests are small; a second thread would mostly wait, and wait longer where
    others compute beside it.
    """
    keep_large_blocks()
    torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def own_home(tmp_path, monkeypatch):
    """Keep every test away from the user's data."""
    monkeypatch.setenv("LONGARENA_HOME", str(tmp_path / "home"))


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


def pytest_collection_modifyitems(items):
    """Run the fast tests first, so that a mistake shows early."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is not None)

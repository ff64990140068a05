"""What the documents say is tried: snippets run, named files exist."""

import json
import os
import re
import shlex
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from cli.commands import SMALL_WORDS, call
from typer.main import get_command
from typer.testing import CliRunner

from longarena.cli.main import app
from longarena.errors import UserError
from longarena.measure.speed import Patience

ROOT = Path(__file__).parent.parent
MEASURING, TRAINING = ROOT / "docs/measuring.md", ROOT / "docs/training.md"
# what a page shows at full size is tried at a small one
SMALLER = {
    r"(measure (?!.*--task).*)": r"\1 --lengths 64,128 --shape small",
    r"--preset \w+": "--preset quick --set task.min_length=4 --set task.max_length=64",
    r"500M": "1M",
}
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(page, language):
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(), re.DOTALL)


def test_the_example_mixer_trains_from_the_command_line(tmp_path):
    code = blocks(ROOT / "docs/add-a-mixer.md", "python")[0]
    (tmp_path / "mine.py").write_text(code)
    words = ["train", "listops", "mine:RunningMean", *SMALL_WORDS, "--quiet"]
    status, output, errors = call(*words, folder=tmp_path, PYTHONPATH=str(tmp_path))
    assert status == 0, errors
    assert "test accuracy" in output


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_file_that_a_page_names_exists(page):
    named = re.findall(r"`((?:longarena|tests|docs|sweeps)/[\w./-]+)`", page.read_text())
    missing = [name for name in named if not (ROOT / name).exists()]
    assert not missing


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_that_a_page_shows_exists(page):
    code = " ".join(re.findall(r"`[^`]+`|```.*?```", page.read_text(), re.DOTALL))
    for word, second in set(re.findall(r"longarena ([a-z]+)(?: ([a-z]+))?", code)):
        command = get_command(app).commands[word]
        assert not hasattr(command, "commands") or second in command.commands, (word, second)


def commands(page):
    return re.findall(r"^longarena (.+)$", "\n".join(blocks(page, "")), re.MULTILINE)


def smaller(command):
    for pattern, replacement in SMALLER.items():
        command = re.sub(pattern, replacement, command)
    return shlex.split(command)


@pytest.fixture
def run(monkeypatch, tmp_path):
    """Run a command of the page on measuring, at a small size and with little patience."""
    monkeypatch.chdir(tmp_path)
    hasty = partial(Patience, turn_seconds=0.02, min_turns=1, max_turns=1)
    # the package has a function `measure`, which hides the folder from a dotted name
    monkeypatch.setattr(sys.modules["longarena.measure.session"], "Patience", hasty)
    return lambda words: CliRunner().invoke(app, words, catch_exceptions=False).stdout


@pytest.mark.slow
@pytest.mark.parametrize("command", [c for c in commands(MEASURING) if c.startswith("measure")])
def test_every_measurement_of_the_page_runs(command, run):
    output = run(smaller(command))
    assert "Mult-Adds" in output
    assert ("--max-mult-adds" in command) == ("above 1M" in output)


def test_the_training_that_the_page_says_is_refused_is_refused(run, tmp_path):
    [command] = [c for c in commands(MEASURING) if c.startswith("train")]
    with pytest.raises(UserError, match="more than --max-mult-adds"):
        run(smaller(command))
    assert not list(tmp_path.iterdir())


def test_the_span_of_a_run_is_measured_as_the_page_says(run):
    [command] = [c for c in commands(MEASURING) if c.startswith("span")]
    trained = json.loads(run(["train", "listops", "linear", *SMALL_WORDS, "--json", "--quiet"]))
    assert "mean span" in run(shlex.split(command.replace("RUN", trained["id"])))


# two devices are two processes, which `tests/training/test_devices.py` starts
@pytest.mark.parametrize(
    "command", [c for c in commands(TRAINING) if c.startswith("train") and "--devices" not in c]
)
def test_every_training_of_the_page_runs(command, run):
    # the last word counts, so what the page changes stays changed
    first, task, mixer, *rest = shlex.split(command)
    assert "test accuracy" in run([first, task, mixer, *SMALL_WORDS, *rest, "--quiet"])


@pytest.mark.slow
def test_the_python_of_the_page_runs_as_one_script(tmp_path):
    *script, own, last = blocks(ROOT / "docs/python.md", "python")
    (tmp_path / "own.py").write_text(own)
    (tmp_path / "script.py").write_text("\n".join([*script, last]))
    done = subprocess.run(
        [sys.executable, "script.py"],
        cwd=tmp_path,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    trained, swept, page, mixer = done.stdout.splitlines()
    assert len(trained.split()) == 3
    assert swept == "2 finished"
    assert (tmp_path / page).exists()
    assert mixer == "own:Shift"

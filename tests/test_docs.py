"""What the documents say is tried: snippets run, named files exist."""

import re
from pathlib import Path

import pytest
from cli.commands import call
from training.runs import SMALL
from typer.main import get_command

from longarena.cli.main import app

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(page, language):
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(), re.DOTALL)


def test_the_example_mixer_trains_from_the_command_line(tmp_path):
    code = blocks(ROOT / "docs/add-a-mixer.md", "python")[0]
    (tmp_path / "mine.py").write_text(code)
    small = [word for change in SMALL for word in ("--set", change)]
    words = ["train", "listops", "mine:RunningMean", *small, "--quiet"]
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

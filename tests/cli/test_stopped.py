"""Ctrl-C in any command: a line that says what was kept, exit code 130, no traceback."""

import subprocess
import sys
from importlib import import_module

import pytest

from longarena.cli.stopping import was_interrupted

AT_ONCE = """
import sys
from longarena.__main__ import main

class Pressed:
    def find_spec(self, name, path=None, target=None):
        if name == "longarena.cli.main":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Pressed())
main()
"""


@pytest.mark.parametrize(
    ("words", "function", "answer"),
    [
        ("train listops linear", "training.loop:train", "what was saved is in runs/listops/linear"),
        ("data prepare listops", "tasks.prepare:prepare", "nothing half-written stays"),
        ("measure linear", "measure:measure", "what was measured is in runs/records"),
        ("sweep --tasks listops", "sweep:sweep", "the same command goes on"),
        ("sweep --tasks listops --tune batch_size=8,16", "sweep:tune", "the same command goes on"),
        ("tour", "sweep:sweep", "the same command goes on"),
        ("report", "report.page.page:write_page", "the same command writes all of it"),
        ("export speed", "report.export:export", "nothing was written"),
        ("draw linear", "report.patterns.pictures:draw", "nothing was drawn"),
        ("store merge .", "records.merge:merge", "the same command adds the rest"),
        ("evaluate abc", "training.folder:find_run", "nothing was changed"),
        ("span abc", "training.folder:find_run", "nothing was written"),
        ("list runs", "training.folder:all_runs", "stopped"),
    ],
)
def test_a_stopped_command_says_what_was_kept(run, monkeypatch, words, function, answer):
    def press(*_, **__):
        raise KeyboardInterrupt

    module, _, name = function.partition(":")
    monkeypatch.setattr(import_module(f"longarena.{module}"), name, press)
    code, output, errors = run(*words.split())
    assert (code, output) == (130, "")
    assert answer in errors
    assert len(errors.splitlines()) == 1


def test_an_import_that_hides_the_interrupt_is_a_stop_too(run, monkeypatch):
    def half_imported(*_):
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt as pressed:
            raise ImportError("half a module") from pressed

    monkeypatch.setattr("longarena.training.folder.all_runs", half_imported)
    assert run("list", "runs")[::2] == (130, "longarena: stopped\n")


def test_an_error_of_its_own_is_no_stop():
    assert not was_interrupted(ImportError("no such module"))


def test_a_command_stopped_while_it_is_imported_ends_with_a_line():
    done = subprocess.run(
        [sys.executable, "-c", AT_ONCE], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "longarena: stopped before anything was done\n"

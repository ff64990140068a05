"""A budget of Mult-Adds at the command line: a recipe above it never starts."""

import sys

import pytest
from cli.commands import SMALL_WORDS

from longarena.cli import main as main_module


@pytest.fixture
def train(monkeypatch, capsys, tmp_path):
    """Call `longarena train listops linear` here; return exit code and errors."""
    monkeypatch.chdir(tmp_path)

    def call(limit):
        words = ["train", "listops", "linear", *SMALL_WORDS, "--max-mult-adds", limit, "--quiet"]
        monkeypatch.setattr(sys, "argv", ["longarena", *words])
        with pytest.raises(SystemExit) as ended:
            main_module.main()
        return ended.value.code, capsys.readouterr().err

    return call


@pytest.mark.parametrize(
    ("limit", "answer"),
    [("10K", "more than --max-mult-adds 10K; lower model.width"), ("ten", "write 500M, 1.5G")],
)
def test_what_is_above_the_budget_is_refused_before_anything_is_written(
    train, tmp_path, limit, answer
):
    code, errors = train(limit)
    assert code == 2
    assert answer in errors
    assert len(errors.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_what_is_within_the_budget_is_trained(train, tmp_path):
    code, errors = train("1G")
    assert code == 0, errors
    assert list(tmp_path.glob("runs/listops/linear/*/record.json"))

"""A user's own mixer: what is wrong with it is one line, and an edit makes another run."""

import sys
from pathlib import Path

import pytest
from cli.commands import SMALL_WORDS, assert_refused, call
from training.runs import small_recipe

from longarena.errors import UserError
from longarena.findings.changes import command
from longarena.recipes.recipe import note_source
from longarena.records.folder import read_records
from longarena.training.evaluate import evaluate_run
from longarena.training.folder import RunFolder
from longarena.training.loop import train

OWN = "attention.own_mixers"
MINE = (Path(__file__).parents[1] / "attention/own_mixers.py").read_text()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Raises", "raised in forward (own_mixers.py, line 25): ArithmeticError: two and two make"),
        ("WrongSignature", "raised in forward: TypeError"),
        ("WrongInit", "raised in __init__: TypeError"),
        ("NoInit", "does not call super().__init__"),
        ("WrongShape", "returned a tensor of shape"),
        ("Tuple", "returned a tuple for tokens of shape"),
        ("OneToken", "returned a tensor of shape (2, 1, 16)"),
        ("Nan", "returned numbers that are not finite"),
        ("SeesPadding", "sees padding"),
        (
            "NanWhenLong",
            "the loss of the first step is not finite, which no rate explains: the mixer",
        ),
        (
            "RaisesBackward",
            "raised in the backward pass (own_mixers.py, line 142): ArithmeticError",
        ),
        ("NanGradient", "the gradient of the first step is not finite, which no rate explains"),
    ],
)
def test_what_is_wrong_with_a_mixer_is_one_line_that_names_it(run, name, said):
    ended = run("train", "listops", f"{OWN}:{name}", *SMALL_WORDS, "--quiet")
    assert_refused(ended, f"{OWN}:{name}")
    assert said in ended[2]
    assert "lower rate" not in ended[2]


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """Write `mine.py` into the current folder; the module is forgotten when it is edited."""
    monkeypatch.chdir(tmp_path)

    def write(text):
        sys.modules.pop("mine", None)
        Path("mine.py").write_text(text)

    yield write
    sys.modules.pop("mine", None)


def test_an_edited_mixer_is_another_run_and_an_old_result_says_so(mine, run):
    words = ["train", "listops", "mine:Mean", *SMALL_WORDS, "--quiet"]
    mine(MINE)
    _, first, _ = run(*words)
    _, same, _ = run(*words)
    assert "--again trains anew" not in first
    assert "this is the result of" in same
    assert "--again trains anew" in same
    mine(MINE.replace("self.output(mean)", "2 * self.output(mean)"))
    _, edited, _ = run(*words)
    assert "--again trains anew" not in edited
    runs = read_records(Path("runs/records")).runs
    assert len({record.id for record in runs}) == 2
    assert len({record.recipe.model.own.source for record in runs}) == 2


def test_again_trains_anew(mine, run):
    words = ["train", "listops", "linear", *SMALL_WORDS, "--quiet"]
    run(*words)
    path = next(Path("runs").rglob("log.jsonl"))
    path.unlink()
    _, read, _ = run(*words)
    assert not path.exists()
    _, trained, _ = run(*words, "--again")
    assert path.exists()
    assert "this is the result of" in read
    assert "this is the result of" not in trained


def test_a_recipe_that_was_made_before_an_edit_is_refused(mine):
    mine(MINE)
    recipe = note_source(small_recipe("mine:Mean", "steps=2"))
    record = train(recipe)
    assert record.recipe.model.own.card.title == "My mean"
    mine(MINE + "\n# edited\n")
    with pytest.raises(UserError, match="mine:Mean was edited since"):
        train(recipe)
    with pytest.raises(UserError, match="mine:Mean was edited since"):
        evaluate_run(RunFolder.of(Path("runs"), recipe), "test")


def test_the_command_of_a_run_does_not_speak_of_its_source(mine):
    mine(MINE)
    assert "own" not in command(small_recipe("mine:Mean")).replace("--set model.", "")


@pytest.mark.slow
def test_a_file_in_the_current_folder_is_found_by_the_installed_command(tmp_path):
    """As the script of an installation does, which does not put the folder on the path."""
    (tmp_path / "mine.py").write_text(MINE)
    words = ["train", "listops", "mine:Mean", *SMALL_WORDS, "--steps", "2", "--quiet"]
    code, output, errors = call(*words, folder=tmp_path, PYTHONSAFEPATH="1")
    assert code == 0, errors
    assert "test accuracy" in output

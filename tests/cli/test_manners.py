"""What a person at a terminal may expect: whole names, hints that work, one line for a mistake."""

import io
import json
import shlex

import pytest
from cli.commands import SMALL_WORDS, assert_refused
from rich.console import Console
from typer.main import get_command

from longarena.attention import CARDS
from longarena.cli.main import app
from longarena.progress import TerminalProgress
from longarena.tasks import TASKS

LISTOPS = ["listops", "--set", "min_length=4", "--set", "max_length=30", "--size", "0.002"]


def suggested(output):
    """The commands after `next:`, as they would be typed."""
    lines = output.partition("next:")[2].splitlines()
    return [shlex.split(line)[1:] for line in lines if line.strip()]


def commands(group, path=()):
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        else:
            yield " ".join([*path, name]), command


@pytest.fixture
def narrow(monkeypatch):
    """A terminal of 80 columns that shows no colours."""
    for name, value in {"FORCE_COLOR": "1", "TERM": "dumb", "COLUMNS": "80"}.items():
        monkeypatch.setenv(name, value)


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ("list mixers", CARDS),
        ("list mixers --families", CARDS),
        ("list tasks", TASKS),
        ("sweep --tasks listops --mixers all --dry-run", CARDS),
    ],
)
def test_names_are_whole_at_80_columns(run, narrow, words, names):
    _, output, _ = run(*words.split())
    assert set(names) <= set(output.split())
    assert "…" not in output
    assert max(map(len, output.splitlines())) <= 80


def test_what_does_not_fit_is_named(run, narrow):
    _, output, _ = run("list", "mixers")
    assert "too narrow for: memory" in output


def test_the_time_left_of_a_bar_is_whole_at_80_columns():
    console = Console(file=io.StringIO(), force_terminal=True, width=80, color_system=None)
    with TerminalProgress(console).bar("training pathfinder-256 image-transformer", 9999) as bar:
        bar.advance(5, note="loss 0.693 accuracy 50.1% 123,456 tokens/s")
    last = console.file.getvalue().rpartition("\x1b[2K")[2].rstrip()
    assert "-:--:--" in last
    assert "…" in last


COMMANDS = dict(commands(get_command(app)))


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_can_be_quiet_and_can_speak_json(name):
    command = COMMANDS[name]
    options = {option for parameter in command.params for option in parameter.opts}
    assert {"--quiet", "--json"} <= options
    assert all(parameter.help for parameter in command.params), name


def test_numbers_are_numbers_in_json(run):
    [task, *_] = json.loads(run("list", "tasks", "--json")[1])
    assert (task["classes"], task["length"], task["version"]) == (10, 1999, 1)
    assert task["train / valid / test"] == {"train": 96_000, "valid": 2_000, "test": 2_000}
    facts = json.loads(run("data", "prepare", *LISTOPS, "--quiet", "--json")[1])
    assert facts["examples"] == {"train": 192, "valid": 4, "test": 4}
    assert 0 < facts["padding"] < 1
    [prepared] = json.loads(run("data", "list", "--json")[1])
    assert prepared["MB"] > 0
    plan = json.loads(run("sweep", "--tasks", "listops", "--dry-run", "--json")[1])
    assert [row["index"] for row in plan["runs"]] == list(range(len(CARDS)))
    assert {row["step"] for row in plan["runs"]} == {0}


def test_examples_can_be_had_as_json(run):
    examples = json.loads(run("data", "show", *LISTOPS, "--count", "2", "--json")[1])
    assert [set(example) for example in examples] == [{"text", "label"}] * 2


def test_a_mechanism_is_shown_with_its_options_and_parameters(run):
    code, output, _ = run("show", "mixer", "local")
    assert code == 0
    assert "options: block=64" in output
    assert "1.00 of the Transformer's" in output
    found = json.loads(run("show", "mixer", "linformer", "--json")[1])
    assert found["year"] == 2020
    assert found["parameters"] > 3_000_000


def test_the_data_just_prepared_is_shown_by_the_command_that_is_suggested(run):
    _, output, _ = run("data", "prepare", *LISTOPS, "--quiet")
    [command] = suggested(output)
    code, _, errors = run(*command)
    assert code == 0, errors
    assert "--size 0.002" in shlex.join(command)


def test_what_is_suggested_after_training_works_in_other_folders_too(run):
    places = ["--runs", "my runs", "--store", "my records"]
    _, output, _ = run("train", "listops", "linear", *SMALL_WORDS, *places, "--quiet")
    evaluate, report = suggested(output)
    code, _, errors = run(*evaluate)
    assert code == 0, errors
    assert "evaluating: 10/10" in errors
    code, output, errors = run(*report)
    assert code == 0, errors
    assert "1 run" in output


def test_a_diverged_run_is_to_be_tried_at_a_lower_rate(run):
    words = ["train", "listops", "linear", *SMALL_WORDS, "--set", "optimiser.rate=1e38"]
    _, output, _ = run(*words, "--quiet")
    assert "diverged" in output
    [command] = suggested(output)
    recipe = json.loads(run("show", "recipe", *command[1:], "--json")[1])
    assert recipe["optimiser"]["rate"] == pytest.approx(3.3e37)
    assert recipe["model"]["width"] == 16


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        ("train listops linear --set model.width=100000000", "lower model.width"),
        ("train listops linear --set model.depth=100000000", "lower model.width"),
        ("sweep --tasks listops --set model.mlp_width=100000000000", "lower model.width"),
        ("measure --cost --task listops --set model.depth=100000000", "lower model.width"),
        ("measure linear --lengths 10000000000", "choose smaller --lengths"),
        ("draw linear --length 10000000", "choose a smaller --length"),
        ("train listops linear --set model.num_heads=3", "model: width 64 is not a multiple"),
        ("train listops linear --set model.num_heads=0", "model.num_heads = 0"),
    ],
)
def test_what_is_beyond_the_machine_is_refused_in_a_short_line(run, words, answer):
    ended = run(*words.split())
    assert_refused(ended, answer)
    assert len(ended[2]) < 200

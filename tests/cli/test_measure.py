import json
from importlib import import_module

import pytest
from typer.testing import CliRunner

from longarena.cli.main import app
from longarena.errors import UserError


def run(*words):
    return CliRunner().invoke(app, ["measure", *words], catch_exceptions=False)


def test_costs_are_counted_without_a_clock():
    found = json.loads(
        run("linear", "--cost", "--lengths", "64,128", "--shape", "small", "--json").stdout
    )
    assert [entry["length"] for entry in found] == [64, 128]
    assert found[0]["cost"]["feed_forward"] == 2 * 2 * 64 * 128
    assert "above_limit" not in found[0]


def test_costs_are_shown_by_kind_of_layer():
    text = run("transformer", "linear", "--cost", "--lengths", "64", "--shape", "small").stdout
    assert "Mult-Adds per token" in text
    for column in ("attention", "convolution", "feed-forward", "head, embedding", "linear"):
        assert column in text


def test_a_recipe_is_counted_at_the_longest_length_of_its_task():
    words = ["lite-transformer[split=0.25]", "--cost", "--task", "listops", "--preset", "small"]
    changes = ["task.min_length=4", "task.max_length=100", "model.depth=1"]
    words += [word for change in changes for word in ("--set", change)] + ["--json"]
    [found] = json.loads(run(*words).stdout)
    width, far, near, tokens = 64, 16, 48, 100
    assert (found["mixer"], found["length"]) == ("lite-transformer[split=0.25]", tokens)
    assert found["cost"]["attention"] == 4 * far**2 + 2 * tokens * far
    assert found["cost"]["feed_forward"] == 2 * width * width
    assert found["cost"]["convolution"] > 3 * near**2


def test_a_recipe_is_counted_at_other_lengths_when_asked():
    words = ["linear", "--cost", "--task", "listops", "--lengths", "64,128", "--json"]
    assert [found["length"] for found in json.loads(run(*words).stdout)] == [64, 128]


@pytest.mark.parametrize(("limit", "above"), [("1k", True), ("1G", False)])
def test_what_is_above_a_budget_is_marked(limit, above):
    words = ["linear", "--cost", "--lengths", "64", "--shape", "small", "--max-mult-adds", limit]
    assert ("above 1K" in run(*words).stdout) == above
    assert json.loads(run(*words, "--json").stdout)[0]["above_limit"] == above


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["liner"], "unknown mixer 'liner'; did you mean linear"),
        (["linear", "--lengths", "1k"], "--lengths '1k' is not a list of whole numbers"),
        (["linear", "--lengths", "0"], "all must be at least 1"),
        (["linear", "--shape", "texts"], "unknown shape 'texts'; did you mean text"),
        (["linear[x=1]", "--cost"], "unknown option of linear 'x'"),
        (["linear", "--task", "listops"], "--task means nothing without --cost"),
        (["linear", "--cost", "--preset", "small"], "--preset means nothing without --task"),
        (["linear", "--max-mult-adds", "5M"], "--max-mult-adds means nothing without --cost"),
        (["linear", "--cost", "--max-mult-adds", "5X"], "--max-mult-adds '5X' is not a number"),
        (["linear", "--cost", "--task", "listops", "--shape", "text"], "leave out --shape"),
        (["linear", "--cost", "--task", "listopps"], "unknown task 'listopps'"),
        (["linear", "--cost", "--seconds", "5"], "--cost times nothing; leave out --seconds"),
    ],
)
def test_a_mistake_is_one_line_with_a_remedy(words, message):
    with pytest.raises(UserError, match=message.replace("[", r"\[")) as error:
        run(*words)
    assert "\n" not in str(error.value)


def test_options_reach_the_measurement(monkeypatch, tmp_path):
    asked = {}

    def remember(mixers, **options):
        asked.update(options, mixers=mixers)
        raise UserError("enough")

    # the package has a function `measure`, which hides the folder from a dotted name
    monkeypatch.setattr(import_module("longarena.measure"), "measure", remember)
    with pytest.raises(UserError, match="enough"):
        words = ("--batch", "2", "--inference", "--seconds", "5", "--session", "s")
        run("linear", *words, "--store", str(tmp_path))
    assert asked["mixers"] == ["linear"]
    assert (asked["batch_size"], asked["inference"], asked["session"]) == (2, True, "s")
    assert asked["stopping_rule"].max_seconds_each == 5
    assert (asked["store"], list(asked["lengths"])) == (tmp_path, [1024, 2048, 3072, 4096])

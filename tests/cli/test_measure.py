import json

import pytest
from typer.testing import CliRunner

from longarena.cli import measure as command
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


def test_costs_are_shown_by_kind_of_layer():
    text = run("transformer", "linear", "--cost", "--lengths", "64", "--shape", "small").stdout
    assert "Mult-Adds per token" in text
    assert "feed-forward" in text
    assert "linear" in text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["liner"], "unknown mixer 'liner'; did you mean linear"),
        (["linear", "--lengths", "1k"], "--lengths '1k' is no list of whole numbers"),
        (["linear", "--lengths", "0"], "all must be at least 1"),
        (["linear", "--shape", "texts"], "unknown shape 'texts'; did you mean text"),
        (["linear[x=1]", "--cost"], "unknown option of linear 'x'"),
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

    monkeypatch.setattr(command, "measure_mixers", remember)
    with pytest.raises(UserError, match="enough"):
        run("linear", "--batch", "2", "--inference", "--session", "s", "--store", str(tmp_path))
    assert asked["mixers"] == ["linear"]
    assert (asked["batch_size"], asked["inference"], asked["session"]) == (2, True, "s")
    assert (asked["store"], list(asked["lengths"])) == (tmp_path, [1024, 2048, 3072, 4096])

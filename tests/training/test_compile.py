"""A compiled model computes what a plain one does; what cannot be compiled is refused first."""

import json

import pytest
import torch
from cli.commands import SMALL_WORDS, call
from torch._inductor import config
from training.runs import small_recipe

from longarena.errors import UserError
from longarena.training.loop import train

WORDS = [*SMALL_WORDS, "--set", "model.dropout=0.0", "--set", "model.depth=1", "--quiet"]


def losses(folder):
    [log] = folder.glob("runs/*/*/*/log.jsonl")
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    return [line["loss"] for line in lines if "loss" in line]


# a minute and a half of C++ compiler
@pytest.mark.slow
@pytest.mark.everywhere
def test_a_compiled_run_has_nearly_the_loss_curve_of_a_plain_one(run, tmp_path):
    run("train", "listops", "linear", *WORDS)
    expected = losses(tmp_path)
    assert len(set(expected)) == len(expected) > 2
    # in a process of its own: compiled code has no room for the checks of shapes here
    compiled = tmp_path / "compiled"
    compiled.mkdir()
    words = ["train", "listops", "linear", *WORDS, "--compile"]
    code, _, errors = call(*words, folder=compiled, TORCHINDUCTOR_CACHE_DIR=str(compiled / "code"))
    assert code == 0, errors
    assert losses(compiled) == pytest.approx(expected, rel=1e-3)


def test_a_run_that_cannot_be_compiled_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    nothing = config.patch({"cpp.cxx": ("no-such-compiler",)})
    with nothing, pytest.raises(UserError, match=r"install g\+\+"):
        train(small_recipe("linear", "compile=true"), tmp_path / "runs")
    assert not (tmp_path / "runs").exists()

"""Two processes that share a run must compute what one computes."""

import json
import os
import subprocess
import sys

import pytest
from cli.commands import SMALL_WORDS, assert_refused, call
from training.runs import small_recipe

from longarena.errors import UserError
from longarena.training.devices import check_shares, started_by_torchrun
from longarena.training.loop import train

pytestmark = pytest.mark.slow

WORDS = ["train", "listops", "transformer", *SMALL_WORDS, "--set", "model.dropout=0.0", "--json"]


@pytest.fixture(scope="module")
def losses(tmp_path_factory):
    """The training losses and the metrics, by the number of devices."""
    return {1: train_by_one(tmp_path_factory), 2: train_by_two(tmp_path_factory)}


def train_by_one(tmp_path_factory):
    folder = tmp_path_factory.mktemp("one")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LONGARENA_HOME", str(folder / "home"))
        record = train(small_recipe("transformer", "model.dropout=0.0"), folder / "runs")
    return read_losses(folder), record.metrics.test.loss


def train_by_two(tmp_path_factory):
    folder = tmp_path_factory.mktemp("two")
    words = [*WORDS, "--devices", 2]
    code, output, errors = call(*words, folder=folder, LONGARENA_HOME=str(folder / "home"))
    assert code == 0, errors
    return read_losses(folder), json.loads(output)["metrics"]["test"]["loss"]


def read_losses(folder):
    log = next(folder.glob("runs/*/*/*/log.jsonl")).read_text().splitlines()
    lines = [json.loads(line) for line in log]
    return [line["loss"] for line in lines if "loss" in line]


def test_two_processes_have_the_loss_curve_of_one(losses):
    assert losses[2][0] == pytest.approx(losses[1][0], rel=1e-4)


def test_two_processes_reach_the_score_of_one(losses):
    assert losses[2][1] == pytest.approx(losses[1][1], rel=1e-3)


def test_more_processes_than_examples_are_refused(run):
    ended = run(*WORDS, "--set", "batch_size=1", "--devices", "2")
    assert_refused(ended, "2 devices cannot share a batch of 1")


def test_more_parts_than_examples_are_refused():
    recipe = small_recipe("linear", "accumulate=5")
    check_shares(recipe, num_processes=1)
    with pytest.raises(UserError, match="accumulate=5 cuts the 4 examples of a device"):
        check_shares(recipe, num_processes=2)


@pytest.mark.everywhere
def test_torchrun_says_how_many_processes_there_are(tmp_path, losses):
    """Without --devices; the two meet on this machine.

    `test_devices_everywhere.py` forks two processes that are told of each other as torchrun does.
    """
    meeting = ["--rdzv-backend=c10d", "--rdzv-endpoint=127.0.0.1:0", "--local-addr=127.0.0.1"]
    launcher = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2", *meeting]
    ended = subprocess.run(
        [*launcher, "-m", "longarena", *WORDS],
        cwd=tmp_path,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert "Starting with 2 processes" in ended.stderr
    assert json.loads(ended.stdout)["status"] in {"finished", "collapsed"}
    assert read_losses(tmp_path) == losses[2][0]


def test_another_number_than_torchrun_has_is_refused(monkeypatch):
    assert started_by_torchrun(3) is None
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "one")
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")
    monkeypatch.setenv("GROUP_WORLD_SIZE", "4")
    assert started_by_torchrun(1) == started_by_torchrun(2) == (2, 4)
    with pytest.raises(UserError, match="started 2 processes here, --devices asks for 3"):
        started_by_torchrun(3)

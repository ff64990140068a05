"""Two processes that share a run must compute what one computes."""

import json
import os
import subprocess
import sys

import pytest
from cli.commands import SMALL_WORDS, call
from training.runs import small_recipe

from longarena.errors import UserError
from longarena.training.devices import check_shares, started_by_torchrun

pytestmark = pytest.mark.slow

WORDS = ["train", "listops", "transformer", *SMALL_WORDS, "--set", "model.dropout=0.0", "--json"]


@pytest.fixture(scope="module")
def losses(tmp_path_factory):
    """The training losses and the record, by the number of devices."""
    found = {}
    for devices in (1, 2):
        folder = tmp_path_factory.mktemp(f"devices{devices}")
        words = [*WORDS, "--devices", devices]
        code, output, errors = call(*words, folder=folder, LONGARENA_HOME=str(folder / "home"))
        assert code == 0, errors
        found[devices] = read_losses(folder), json.loads(output)
    return found


def read_losses(folder):
    log = next(folder.glob("runs/*/*/*/log.jsonl")).read_text().splitlines()
    lines = [json.loads(line) for line in log]
    return [line["loss"] for line in lines if "loss" in line]


def test_two_processes_have_the_loss_curve_of_one(losses):
    assert losses[2][0] == pytest.approx(losses[1][0], rel=1e-4)


def test_two_processes_reach_the_score_of_one(losses):
    one, two = (losses[devices][1]["metrics"]["test"] for devices in (1, 2))
    assert two["loss"] == pytest.approx(one["loss"], rel=1e-3)


def test_more_processes_than_examples_are_refused(tmp_path):
    words = [*WORDS, "--set", "batch_size=1", "--devices", 2]
    code, _, errors = call(*words, folder=tmp_path)
    assert code == 2
    assert "2 devices cannot share a batch of 1" in errors


def test_more_parts_than_examples_are_refused():
    recipe = small_recipe("linear", "accumulate=5")
    check_shares(recipe, num_processes=1)
    with pytest.raises(UserError, match="accumulate=5 cuts the 4 examples of a device"):
        check_shares(recipe, num_processes=2)


def test_torchrun_says_how_many_processes_there_are(tmp_path, losses):
    """Without --devices; the two meet on this machine."""
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

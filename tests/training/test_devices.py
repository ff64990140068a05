"""Two processes that share a run must compute what one computes."""

import json

import pytest
from cli.commands import SMALL_WORDS, call

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
        log = next(folder.glob("runs/*/*/*/log.jsonl")).read_text().splitlines()
        lines = [json.loads(line) for line in log]
        found[devices] = [line["loss"] for line in lines if "loss" in line], json.loads(output)
    return found


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

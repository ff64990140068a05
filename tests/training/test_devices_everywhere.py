"""Every mechanism on two processes, or with a batch in parts, learns what one makes of the whole.

Draws, centroids and losses of a mixer's own must not know how a batch was shared out. The two
processes are forked from this one and find each other as under torchrun.
"""

import json
import os
import socket

import pytest
import torch
from representatives import mark_others
from training.runs import small_recipe

from longarena.attention import MIXERS, find
from longarena.data.files import locked
from longarena.data.tensors import load_tensors
from longarena.errors import UserError
from longarena.training.folder import RunFolder
from longarena.training.loop import train

pytestmark = pytest.mark.slow

# where a gradient is only rounding, Adam's step is as long as elsewhere unless epsilon is larger
TRAINING = ["optimiser.rate=0.01", "optimiser.epsilon=1e-4", "model.dropout=0.0"]
LENGTHS = ["steps=6", "log_every=1", "evaluate_every=3"]
# what moves without a gradient shall move far, and draws shall change on the way
OPTIONS = {"performer": {"redraw_every": 2}, "routing": {"decay": 0.5}}
TRAINED, FAILED, REFUSED, ENDED_QUIETLY = range(4)
WITH_DRAWS = ["performer", "reformer", "sinkhorn", "long-conv"]
WITH_DRAWS_STATE_OR_LOSS = [*WITH_DRAWS, "routing", "compressive"]


@pytest.fixture(autouse=True)
def shared_home(tmp_path_factory, own_home, monkeypatch):
    """Prepare the data once for all mixers."""
    monkeypatch.setenv("LONGARENA_HOME", str(tmp_path_factory.getbasetemp() / "devices-home"))


def recipe_of(mixer, *changes):
    options = find(mixer).card.sketch | OPTIONS.get(mixer, {})
    own = [f"model.{key}={value}" for key, value in options.items()]
    return small_recipe(mixer, *TRAINING, *LENGTHS, *own, *changes)


def train_by_two(recipe, runs):
    """Train in two processes that are started together, as torchrun does it; return their ends."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    meeting = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "TORCHELASTIC_RUN_ID": "two"}
    sizes = {"WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "GROUP_WORLD_SIZE": "1"}
    workers = [fork_worker(rank, meeting | sizes, recipe, runs) for rank in ("0", "1")]
    return [os.waitstatus_to_exitcode(os.waitpid(worker, 0)[1]) for worker in workers]


def fork_worker(rank, environment, recipe, runs):
    worker = os.fork()
    if worker == 0:
        end = FAILED
        try:
            os.environ |= environment | {"RANK": rank, "LOCAL_RANK": rank, "GROUP_RANK": "0"}
            train(recipe, runs)
            end = TRAINED
        except UserError:
            end = REFUSED
        except SystemExit:
            end = ENDED_QUIETLY
        finally:
            os._exit(end)
    return worker


def outcome(runs, recipe):
    """The training losses, and all that is in the best parameters."""
    folder = RunFolder.of(runs, recipe)
    lines = [json.loads(line) for line in folder.log.read_text().splitlines()]
    return [line["loss"] for line in lines if "loss" in line], load_tensors(folder.best).tensors


def assert_alike(found, expected):
    assert found[0] == pytest.approx(expected[0], rel=1e-4)
    assert found[1].keys() == expected[1].keys()
    for name, tensor in expected[1].items():
        torch.testing.assert_close(found[1][name], tensor, rtol=0, atol=1e-4, msg=name)


@pytest.fixture
def whole(mixer, tmp_path):
    """What one process makes of whole batches."""
    recipe = recipe_of(mixer)
    train(recipe, tmp_path / "whole")
    return outcome(tmp_path / "whole", recipe)


@pytest.mark.parametrize("mixer", mark_others(MIXERS))
def test_two_processes_learn_what_one_learns(mixer, whole, tmp_path):
    recipe = recipe_of(mixer)
    assert train_by_two(recipe, tmp_path / "two") == [TRAINED, TRAINED]
    assert_alike(outcome(tmp_path / "two", recipe), whole)


@pytest.mark.parametrize("mixer", mark_others(WITH_DRAWS_STATE_OR_LOSS))
def test_a_batch_in_uneven_parts_teaches_what_the_whole_does(mixer, whole, tmp_path):
    recipe = recipe_of(mixer, "accumulate=3")
    train(recipe, tmp_path / "parts")
    assert_alike(outcome(tmp_path / "parts", recipe), whole)


def test_if_the_first_process_is_refused_the_second_ends_without_a_word(tmp_path):
    recipe = recipe_of("linear")
    with locked(RunFolder.of(tmp_path, recipe).lock, "unused"):
        assert train_by_two(recipe, tmp_path) == [REFUSED, ENDED_QUIETLY]

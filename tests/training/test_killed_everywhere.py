"""Mechanisms killed with no chance to say goodbye at random moments end with the same bits.

The moment is random in the step, which the mixer's name decides, and in the milliseconds after it,
which nobody decides: the trainer goes on while it is being killed. It is forked from this process,
for a new interpreter would take longer to start than the run takes.
"""

import os
import random
import signal
import time

import pytest
from representatives import mark_others
from training.runs import small_recipe
from training.test_loop import without_clock

from longarena.attention import MIXERS, find
from longarena.training import loop
from longarena.training import run as run_module
from longarena.training.folder import RunFolder
from longarena.training.loop import train

pytestmark = pytest.mark.slow

STEPS = 20
# a new draw of the features in the middle of what is repeated
OPTIONS = {"performer": {"redraw_every": 7}}
# draws, centroids and a memory that must come back
STATEFUL = ("bigbird", "routing", "compressive")


@pytest.fixture(autouse=True)
def shared_home(tmp_path_factory, own_home, monkeypatch):
    """Prepare the data once for all mixers."""
    monkeypatch.setenv("LONGARENA_HOME", str(tmp_path_factory.getbasetemp() / "killed-home"))


def recipe_of(mixer):
    options = find(mixer).card.sketch | OPTIONS.get(mixer, {})
    changes = [f"model.{key}={value}" for key, value in options.items()]
    lengths = [f"steps={STEPS}", "checkpoint_every=3", "evaluate_every=8"]
    return small_recipe(mixer, *lengths, *changes)


def train_and_tell(recipe, runs, pipe):
    """Train, and write every step to a pipe; what was trained waits for ever to be tested."""
    take_step = run_module.take_step

    def step_and_tell(learner, batch, at):
        tally = take_step(learner, batch, at)
        os.write(pipe, bytes([at + 1]))
        return tally

    run_module.take_step = step_and_tell
    loop._conclude = lambda *_: signal.pause()
    train(recipe, runs)


def train_and_kill(recipe, runs, step, delay):
    """Train in a process that is killed some time after a step."""
    told, tell = os.pipe()
    trainer = os.fork()
    if trainer == 0:
        os.close(told)
        try:
            train_and_tell(recipe, runs, tell)
        finally:
            os._exit(1)
    os.close(tell)
    try:
        while (found := os.read(told, 1)) and found[0] < step:
            pass
        time.sleep(delay)
    finally:
        os.kill(trainer, signal.SIGKILL)
        os.close(told)
        _, status = os.waitpid(trainer, 0)
    assert found, "the trainer ended by itself"
    assert os.WIFSIGNALED(status)


def tensor_files(runs, recipe):
    """The bytes of the best parameters and of the last checkpoints, and what else lies there."""
    folder = RunFolder.of(runs, recipe).checkpoints
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix != ".json"}


@pytest.mark.parametrize("mixer", mark_others(MIXERS, STATEFUL))
def test_a_mixer_killed_twice_ends_with_the_bits_of_an_unbroken_run(mixer, tmp_path):
    recipe, rng = recipe_of(mixer), random.Random(mixer)
    unbroken = train(recipe, tmp_path / "unbroken")
    for step in sorted(rng.sample(range(1, STEPS), 2)):
        train_and_kill(recipe, tmp_path / "broken", step, delay=rng.uniform(0, 0.03))
    assert not RunFolder.of(tmp_path / "broken", recipe).record.exists()
    assert without_clock(train(recipe, tmp_path / "broken")) == without_clock(unbroken)
    found, expected = (tensor_files(tmp_path / name, recipe) for name in ("broken", "unbroken"))
    assert len(expected) == 3
    assert found == expected

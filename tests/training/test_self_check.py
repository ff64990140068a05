"""Each task has a tiny setting on which a working model must reach a stated accuracy in seconds.

A broken task, embedding, mask or head shows here as a score of chance. Positions alone tell the
answer in Text, letters would not; Retrieval needs both towers; on Pathfinder, where nothing is
learnt in seconds, a model must learn 32 images by heart: that shows a broken model, not a broken
task.
"""

from dataclasses import dataclass, field

import numpy as np
import pytest
from training import signals

from longarena import tasks
from longarena.recipes.presets import preset
from longarena.recipes.recipe import override
from longarena.tasks.base import default_home
from longarena.tasks.prepare import prepare
from longarena.training.evaluate import evaluate_run
from longarena.training.folder import RunFolder
from longarena.training.loop import train

pytestmark = pytest.mark.slow

MODEL = ["model.width=32", "model.mlp_width=64", "model.depth=1", "checkpoint_every=1000"]
MODEL += ["model.norm=layer", "model.input=embed"]  # as for bytes: running means lag behind
OPTIONS = {"local": ["model.block=16"], "bigbird": ["model.block=16"]}


@dataclass(frozen=True)
class Setting:
    """How a task is trained, on which mechanisms, and what they must reach."""

    mixers: list[str]
    steps: int
    accuracy: float
    batch_size: int = 32
    rate: float = 0.005
    split: str = "test"
    size: float = 1.0
    options: dict = field(default_factory=dict)

    def changes(self):
        return [
            *(f"task.{key}={value}" for key, value in self.options.items()),
            f"task.size={self.size}",
            f"steps={self.steps}",
            f"evaluate_every={self.steps}",
            f"log_every={self.steps // 10}",
            f"batch_size={self.batch_size}",
            f"optimiser.rate={self.rate}",
            "schedule.warmup_steps=10",
        ]


SETTINGS = {
    "listops": Setting(
        ["transformer", "performer"],
        steps=150,
        accuracy=0.4,
        size=0.03,
        options={"min_length": 4, "max_length": 12, "max_depth": 2},
    ),
    "text": Setting(
        ["transformer", "linear", "bigbird"],
        steps=120,
        accuracy=0.9,
        options={"max_length": 128},
    ),
    "retrieval": Setting(
        ["transformer", "linear", "local"],
        steps=100,
        accuracy=0.9,
        options={"max_length": 64},
    ),
    "image": Setting(
        ["linear", "local", "bigbird"], steps=60, accuracy=0.9, batch_size=20, rate=0.01
    ),
    "pathfinder": Setting(
        ["local", "performer"],
        steps=80,
        accuracy=0.95,
        batch_size=16,
        split="train",
        size=0.0002,
        options={"difficulty": 6},
    ),
}
# a pair of texts by default, the others by `make test-all`
BY_DEFAULT = {("retrieval", "transformer")}
CASES = [
    pytest.param(task, mixer, marks=() if (task, mixer) in BY_DEFAULT else pytest.mark.everywhere)
    for task, setting in SETTINGS.items()
    for mixer in setting.mixers
]


@pytest.mark.parametrize(("task", "mixer"), CASES)
def test_a_working_model_reaches_the_stated_accuracy(task, mixer, tmp_path):
    setting = SETTINGS[task]
    changes = [*MODEL, *setting.changes(), *OPTIONS.get(mixer, [])]
    if hasattr(signals, task):
        source = getattr(signals, task)(tmp_path, np.random.default_rng(0))
        prepare(tasks.build(task, setting.options), default_home(), source)
        changes.append("task.data=signal")
    recipe = override(preset(task, mixer), changes)
    record = train(recipe, tmp_path / "runs")
    reached = evaluate_run(RunFolder.of(tmp_path / "runs", recipe), setting.split).score.value
    assert reached >= setting.accuracy
    assert record.status == "finished"

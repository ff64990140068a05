"""A small run that the training tests share: seconds, not minutes."""

from longarena.recipes.presets import preset
from longarena.recipes.recipe import override

SMALL = [
    "task.min_length=4",
    "task.max_length=40",
    "task.size=0.005",
    "model.width=16",
    "model.mlp_width=16",
    "model.dropout=0.1",
    "batch_size=8",
    "schedule.warmup_steps=2",
    "steps=12",
    "evaluate_every=5",
    "log_every=3",
    "checkpoint_every=2",
]


def small_recipe(mixer="linear", *changes):
    return override(preset("listops", mixer), [*SMALL, *changes])

"""Presets: functions that return complete recipes, and the table of them."""

from collections.abc import Callable

from longarena import attention, tasks
from longarena.errors import UserError, unknown
from longarena.recipes.presets.cpu import cpu
from longarena.recipes.presets.paper import paper
from longarena.recipes.presets.quick import quick
from longarena.recipes.presets.small import small
from longarena.recipes.recipe import Recipe

Preset = Callable[[str, str, int], Recipe | None]

PRESETS: dict[str, Preset] = {
    "quick": quick,
    "cpu": cpu,
    "small": small,
    "paper": paper,
}


def preset(task: str, mixer: str, name: str = "quick", seed: int = 0) -> Recipe:
    """Return the recipe of a task and a mixer under a preset."""
    if task not in tasks.TASKS:
        raise unknown("task", task, tasks.TASKS)
    if name not in PRESETS:
        raise unknown("preset", name, PRESETS)
    attention.find(mixer)
    recipe = PRESETS[name](task, mixer, seed)
    if recipe is None:
        raise UserError(f"preset {name} has no recipe for {task}; see: longarena list presets")
    return recipe

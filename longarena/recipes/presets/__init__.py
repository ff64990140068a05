"""Presets: functions that return complete recipes, and the table of them."""

from collections.abc import Callable

from longarena import attention, tasks
from longarena.errors import UserError, unknown
from longarena.recipes.presets.cpu import cpu
from longarena.recipes.presets.outside import is_outside
from longarena.recipes.presets.paper import paper
from longarena.recipes.presets.quick import quick
from longarena.recipes.presets.small import small
from longarena.recipes.recipe import Recipe, replace

Preset = Callable[[str, str, int], Recipe | None]

PRESETS: dict[str, Preset] = {
    "quick": quick,
    "cpu": cpu,
    "small": small,
    "paper": paper,
}


def preset(task: str, mixer: str, name: str = "quick", seed: int = 0) -> Recipe:
    """Return the recipe of a task and a mixer under a preset."""
    tasks.find(task)
    if name not in PRESETS:
        raise unknown("preset", name, PRESETS)
    attention.check(mixer)
    recipe = PRESETS[name](task, mixer, seed)
    if recipe is None:
        raise UserError(f"preset {name} has no recipe for {task}; see: longarena list presets")
    return _with_version(recipe) if is_outside(task) else recipe


def _with_version(recipe: Recipe) -> Recipe:
    """Fill in the version of a task from outside."""
    choice = recipe.task.model_dump()
    version = tasks.build(recipe.task.name, recipe.task.options).card.version
    return replace(recipe, task=choice | {"version": version})

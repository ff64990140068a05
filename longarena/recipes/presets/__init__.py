"""Presets: functions that return complete recipes, and the table of them."""

from collections.abc import Callable, Mapping

from pydantic import ValidationError

from longarena import attention, tasks
from longarena.errors import UserError, unknown
from longarena.options import Value, refusal
from longarena.recipes.presets.cpu import cpu
from longarena.recipes.presets.outside import is_outside
from longarena.recipes.presets.own import own
from longarena.recipes.presets.paper import paper
from longarena.recipes.presets.quick import quick
from longarena.recipes.presets.small import small
from longarena.recipes.recipe import Recipe, note_source, replace
from longarena.tasks.base import default_home

Preset = Callable[[str, str, int], Recipe | None]

PRESETS: dict[str, Preset] = {
    "quick": quick,
    "cpu": cpu,
    "small": small,
    "paper": paper,
    "own": own,
}

# presets that give each mechanism a recipe of its own: what they lead to cannot be compared
INDIVIDUAL = frozenset({"own"})
# what else there is for a full task
COMMON = ("paper", "small")


def preset(
    task: str,
    mixer: str,
    name: str = "quick",
    seed: int = 0,
    options: Mapping[str, Value] | None = None,
) -> Recipe:
    """Return the recipe of a task and a mixer under a preset.

    A task may be the path of data, which is prepared here. The options of a task from outside say
    how its data is read, such as `{"text": "review", "label": "stars"}`; those of a built-in task
    are set by `override`.
    """
    task, data = _known(task, options)
    tasks.find(task)
    if options and not is_outside(task):
        raise UserError(f"{task} is not read from a path; set its options by override")
    if name not in PRESETS:
        raise unknown("preset", name, PRESETS)
    attention.check(mixer)
    try:
        recipe = PRESETS[name](task, mixer, seed)
    except ValidationError as error:  # a seed or a name that no record could hold
        raise refusal(error, "recipe") from None
    if recipe is None:
        raise _none(name, task, mixer)
    recipe = note_source(recipe)
    return _completed(recipe, data, options) if is_outside(task) else recipe


def mixers_of(name: str, task: str) -> list[str]:
    """List the mechanisms of the table for which a preset has a recipe for a task.

    >>> mixers_of("paper", "mine:Task")
    []
    """
    make = PRESETS.get(name)
    return [mixer for mixer in attention.CARDS if make and make(task, mixer, 0)]


def _none(name: str, task: str, mixer: str) -> UserError:
    """Make the error for a recipe that a preset does not have."""
    none = f"preset {name} has no recipe for {task}"
    if name in INDIVIDUAL:
        others = " or ".join(other for other in COMMON if PRESETS[other](task, mixer, 0))
        remedy = f"choose {others}" if others else "see: longarena list presets"
        return UserError(f"{none} with {mixer}: none by its authors is known; {remedy}")
    if able := mixers_of(name, task):
        names = ", ".join(able)
        return UserError(f"{none} with {mixer}, which cannot be causal; choose one of {names}")
    return UserError(f"{none}; see: longarena list presets")


def _known(task: str, options: Mapping[str, Value] | None) -> tuple[str, str]:
    """Return how a recipe names a task, and its data if it is a path."""
    if task in tasks.TASKS or ":" in task:
        return task, ""
    # preparing needs what downloads, and most recipes need neither
    from longarena.tasks.prepare import take_in  # noqa: PLC0415

    return take_in(task, default_home(), options)


def _completed(recipe: Recipe, data: str, options: Mapping[str, Value] | None) -> Recipe:
    """Fill in the version, the data and the options of a task from outside."""
    choice = recipe.task.model_dump()
    chosen = recipe.task.options | dict(options or {})
    version = tasks.build(recipe.task.name, chosen).card.version
    return replace(recipe, task=choice | {"version": version, "data": data, "options": chosen})

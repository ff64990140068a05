"""Tasks from outside, named `module:Class` or by their data: what a preset may know about them.

Records name such tasks too, and showing a record must not import or read anything that it names. So
presets make their recipes by the name alone; `preset` fills in the version, and what a file holds.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from longarena import tasks
from longarena.options import Value, read_assignments
from longarena.recipes.recipe import TaskChoice
from longarena.tasks.own import has_values
from longarena.tasks.own.names import is_path_name, name_of


def is_outside(task: str) -> bool:
    """Tell whether a task is a user's own."""
    return ":" in task or is_path_name(task)


def name_in_recipe(task: str) -> str:
    """Return how a recipe names a task that a user named, perhaps by a path."""
    is_path = task not in tasks.TASKS and ":" not in task and Path(task).exists()
    return name_of(Path(task)) if is_path else task


def version_of(task: str) -> int:
    """Return the version of a built-in task, and 1 for one from outside."""
    return 1 if is_outside(task) else tasks.build(task, {}).card.version


def input_of(task: str) -> Literal["embed", "value"]:
    """Return how a user's data is read: values as numbers, anything else as words."""
    return "value" if is_path_name(task) and has_values(task) else "embed"


def options_of(task: str, assignments: Iterable[str]) -> dict[str, Value]:
    """Return the options that `key=value` lines give to a task from outside.

    Data of the user's is read when it is first named, so they are needed before there is a recipe.

    >>> options_of("reviews.csv", ["task.label=stars", "task.size=0.5", "steps=10"])
    {'label': 'stars'}
    """
    if task in tasks.TASKS:
        return {}
    found = read_assignments(assignments)
    options = {key.removeprefix("task."): found[key] for key in found if key.startswith("task.")}
    return {key: value for key, value in options.items() if key not in TaskChoice.model_fields}

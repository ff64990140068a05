"""A recipe: one frozen value that says everything that decides a run's numbers.

Its canonical JSON gives the run's id, so two recipes that differ in anything have two ids. A
variant derives from another: `override(recipe, ["model.depth=2", "task.max_length=512"])` by the
words of the command line, `replace(recipe, seed=1)` by values.
"""

import hashlib
import json
from collections.abc import Iterable
from typing import Literal

from pydantic import Field

from longarena import attention, tasks
from longarena.errors import UserError, unknown
from longarena.model.config import ModelConfig
from longarena.options import Options, Value, parse, read_assignments
from longarena.recipes.schedule import Schedule
from longarena.tasks.base import Task

ID_LENGTH = 10


class TaskChoice(Options):
    """Which task, in which version, under which options, and how much of its data.

    `variant` names data that is not the task's own, such as aan-mini.
    """

    name: str
    version: int
    variant: str = ""
    options: dict[str, Value] = Field(default_factory=dict)
    size: float = Field(1.0, gt=0, le=1)


class Optimiser(Options):
    """AdamW with decoupled weight decay; gradients are cut at `clip` (global norm).

    `decay` says which parameters it makes smaller: all, or only the matrices, which leaves out the
    norms and biases.
    """

    rate: float = Field(gt=0)
    beta_1: float = Field(0.9, ge=0, lt=1)
    beta_2: float = Field(0.98, ge=0, lt=1)
    epsilon: float = Field(1e-9, gt=0)
    weight_decay: float = Field(0.0, ge=0)
    decay: Literal["all", "matrices"] = "all"
    clip: float | None = Field(None, gt=0)


class Recipe(Options):
    """Everything that decides a run's numbers.

    `accumulate` computes a batch in so many parts, which needs less memory for the same update.
    Training ends early once `patience` validations in a row have brought no better accuracy.
    """

    preset: str
    task: TaskChoice
    model: ModelConfig
    optimiser: Optimiser
    schedule: Schedule
    batch_size: int = Field(gt=0)
    accumulate: int = Field(1, gt=0)
    label_smoothing: float = Field(0.0, ge=0, lt=1)
    steps: int = Field(gt=0)
    evaluate_every: int = Field(gt=0)
    patience: int | None = Field(None, gt=0)
    log_every: int = Field(gt=0)
    checkpoint_every: int = Field(gt=0)
    precision: Literal["32", "bf16-mixed", "16-mixed"] = "32"
    compile: bool = False
    seed: int = Field(0, ge=0)

    @property
    def id(self) -> str:
        """The name of this run: a digest of the canonical JSON."""
        text = json.dumps(self.model_dump(mode="json"), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:ID_LENGTH]


def build_task(recipe: Recipe) -> Task:
    """Build the task of a recipe; refuse one made for another version of it."""
    choice = recipe.task
    task = tasks.build(choice.name, choice.options, choice.size, choice.variant)
    if task.card.version != choice.version:
        raise UserError(
            f"the recipe asks for version {choice.version} of {choice.name}, "
            f"this longarena has version {task.card.version}; use the matching release"
        )
    return task


def override(recipe: Recipe, assignments: Iterable[str]) -> Recipe:
    """Derive a recipe from `key=value` lines; refuse unknown keys with the nearest ones.

    A key is a path such as `model.depth`. What is no field of the task or the model is an option
    of the task or the mixer: `task.max_length=512`, `model.materialised=true`.
    """
    values = recipe.model_dump(mode="json")
    for key, value in read_assignments(assignments).items():
        section, name = _locate(values, key)
        section[name] = value
    return parse(Recipe, values, "recipe")


def replace(recipe: Recipe, **changes: object) -> Recipe:
    """Derive a recipe in which some fields are others; all of it is validated anew.

    >>> from longarena.recipes.presets import preset
    >>> recipe = replace(preset("listops", "linear"), seed=1, steps=10)
    >>> recipe.seed, recipe.steps, recipe.batch_size
    (1, 10, 32)
    """
    return parse(Recipe, recipe.model_dump(mode="json") | changes, "recipe")


def _locate(values: dict[str, Value], key: str) -> tuple[dict[str, Value], str]:
    """Find the dictionary that holds a dotted key, and the key's last part."""
    places = {name: values for name, value in values.items() if not isinstance(value, dict)}
    for head, section in values.items():
        if isinstance(section, dict):
            options = section.get("options")
            if isinstance(options, dict):
                places |= {f"{head}.{name}": options for name in _options(head, section)}
            places |= {f"{head}.{name}": section for name in section if name != "options"}
    if key not in places:
        raise unknown("recipe key", key, places)
    return places[key], key.rpartition(".")[2]


def _options(head: str, section: dict[str, Value]) -> Iterable[str]:
    """List the options that the chosen task or mixer has."""
    if head == "task":
        return tasks.TASKS[str(section["name"])].options_type.model_fields
    return attention.find(str(section["mixer"])).options_type.model_fields

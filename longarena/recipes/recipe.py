"""A recipe: one frozen value that holds everything that decides a run's numbers.

The canonical JSON of what differs from the defaults gives the run's id, so two recipes that differ
in anything have two ids, and a field that is added later does not change the id of any run. It
follows that a default never changes: old ids would get another meaning. One recipe derives from
another by the words of the command line, `override(recipe, ["model.depth=2"])`, or by values,
`replace(recipe, seed=1)`.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from typing import Literal

from pydantic import Field, model_validator

from longarena import attention, tasks
from longarena.errors import UserError, unknown
from longarena.model.config import MAX_NAME, ModelConfig
from longarena.model.decoding import Decoding
from longarena.options import (
    Natural,
    Options,
    Positive,
    Value,
    Values,
    parse,
    read_assignments,
)
from longarena.recipes.extension import Extension
from longarena.recipes.masking import Masking, Pretraining
from longarena.recipes.schedule import Schedule
from longarena.tasks.base import Task
from longarena.tasks.signature import Signature

ID_LENGTH = 10
PRETRAINING = "pretraining"  # the section that only some recipes have


class TaskChoice(Options):
    """Which task, in which version, under which options, and how much of its data.

    `data` names data that is not the task's own, such as aan-mini. `shuffle` says how the tokens of
    every example are shuffled, as a control: `all`, `across-64` or `within-64`.
    """

    name: str = Field(min_length=1, max_length=MAX_NAME)
    version: Natural
    data: str = Field("", max_length=MAX_NAME)
    options: Values = Field(default_factory=dict)
    size: float = Field(1.0, gt=0, le=1)
    shuffle: str = Field("", max_length=MAX_NAME)


class Optimiser(Options):
    """How gradients move the parameters; the global norm of the gradient is clipped at `clip`.

    `adamw` decouples the decay from the gradient; `adam` and `sgd` add it to the gradient (L2). The
    momentum of `sgd` is `beta_1`; it uses neither `beta_2` nor `epsilon`. `decay` says which
    parameters decay: all, or only matrices, not norms and biases. The parameters that a mixer calls
    slow never decay; their peak rate is `slow_rate`, or `rate` if that is None.
    """

    kind: Literal["adamw", "adam", "sgd"] = "adamw"
    rate: float = Field(gt=0)
    slow_rate: float | None = Field(None, gt=0)
    beta_1: float = Field(0.9, ge=0, lt=1)
    beta_2: float = Field(0.98, ge=0, lt=1)
    epsilon: float = Field(1e-9, gt=0)
    weight_decay: float = Field(0.0, ge=0)
    decay: Literal["all", "matrices"] = "all"
    clip: float | None = Field(None, gt=0)


class Recipe(Options):
    """Everything that decides a run's numbers.

    A batch is computed in `accumulate` parts, which needs less memory for the same update. Training
    ends early after `patience` validations in a row without a better score. A validation is of
    `validate_on` examples, None means of the whole split; the test split is always whole.

    At the end, the mean of the parameters of the last `average_checkpoints` checkpoints is
    validated too, and tested if it is the best. `decoding` says how a model that writes is tested.

    With `pretraining` a run begins with the backbone of another, which is trained first
    (`pretraining.py`). With `masking` a run is such another: it fills in hidden tokens of its
    inputs instead of answering the task's question. With `extension` a run goes on from another on
    longer sequences (`extending.py`).
    """

    preset: str
    task: TaskChoice
    model: ModelConfig
    optimiser: Optimiser
    schedule: Schedule
    batch_size: Positive
    accumulate: Positive = 1
    label_smoothing: float = Field(0.0, ge=0, lt=1)
    steps: Positive
    evaluate_every: Positive
    validate_on: Positive | None = None
    patience: Positive | None = None
    log_every: Positive
    checkpoint_every: Positive
    average_checkpoints: int = Field(1, gt=0, le=100)
    decoding: Decoding = Field(default_factory=Decoding)
    precision: Literal["32", "bf16-mixed", "16-mixed"] = "32"
    compile: bool = False
    seed: Natural = 0
    pretraining: Pretraining | None = None
    masking: Masking | None = None
    extension: Extension | None = None

    @model_validator(mode="after")
    def _extends_a_recipe(self) -> "Recipe":
        if self.extension is not None:
            before = self.model_dump(mode="json", exclude={"extension"}) | self.extension.before
            type(self).model_validate(before)
        return self

    @property
    def id(self) -> str:
        """The name of this run: a digest of what differs from the defaults."""
        values = self.model_dump(mode="json", exclude_defaults=True)
        text = json.dumps(values, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:ID_LENGTH]


def id_without_seed(recipe: Recipe) -> str:
    """Return what runs that differ in their seeds alone have in common."""
    return recipe.model_copy(update={"seed": 0}).id


def note_source(recipe: Recipe) -> Recipe:
    """Note source and card of a mixer from outside, so that its run has an id of its own.

    A recipe that was made before the mixer was edited is refused.
    """
    own = attention.check_source(recipe.model.mixer, recipe.model.own, "this recipe was made")
    if own is None:
        return recipe
    return recipe.model_copy(update={"model": recipe.model.model_copy(update={"own": own})})


def build_task(recipe: Recipe) -> Task:
    """Build the task of a recipe; refuse a recipe that was made for another version of the task."""
    choice = recipe.task
    task = tasks.build(choice.name, choice.options, choice.size, choice.data, choice.shuffle)
    if task.card.version != choice.version:
        raise UserError(
            f"the recipe asks for version {choice.version} of {choice.name}, "
            f"this longarena has version {task.card.version}; use the matching release"
        )
    return task


def signature_of(recipe: Recipe, task: Task) -> Signature:
    """Return the signature of a recipe's task, under the track that the recipe trains it on."""
    masking = recipe.masking
    if masking is None:
        return task.signature
    changed = {"track": masking.track, "masked_share": masking.share}
    return task.signature.model_copy(update=changed)


def override(recipe: Recipe, assignments: Iterable[str]) -> Recipe:
    """Derive a recipe from `key=value` lines; refuse unknown keys with the nearest ones.

    A key is a path such as `model.depth`. The options of the task and of the mixer go by the same
    form, as if they were fields: `task.max_length=512`, `model.materialised=true`.
    """
    values = recipe.model_dump(mode="json")
    for key, value in read_assignments(assignments).items():
        section, name = _locate(values, key)
        section[name] = value
    return parse(Recipe, values, "recipe")


def override_some(recipes: Sequence[Recipe], assignments: Iterable[str]) -> list[Recipe]:
    """Override values where a recipe has them; refuse a key that none of the recipes has.

    The options of a task or a mixer belong to the recipes with that task or mixer alone.
    """
    changed = list(recipes)
    for assignment in assignments:
        (key,) = read_assignments([assignment])
        able = [_has(recipe, key) for recipe in changed]
        if not any(able):
            return [override(recipe, [assignment]) for recipe in changed]
        changed = [
            override(recipe, [assignment]) if is_able else recipe
            for recipe, is_able in zip(changed, able, strict=True)
        ]
    return changed


def _has(recipe: Recipe, key: str) -> bool:
    """Tell whether a recipe has a value of this name."""
    try:
        _locate(recipe.model_dump(mode="json"), key)
    except UserError:
        return False
    return True


def replace(recipe: Recipe, **changes: object) -> Recipe:
    """Derive a recipe in which some fields have other values; all of it is validated again.

    >>> from longarena.recipes.presets import preset
    >>> recipe = replace(preset("listops", "linear"), seed=1, steps=10)
    >>> recipe.seed, recipe.steps, recipe.batch_size
    (1, 10, 32)
    """
    return parse(Recipe, recipe.model_dump(mode="json") | changes, "recipe")


def _locate(values: dict[str, Value], key: str) -> tuple[dict[str, Value], str]:
    """Find the dictionary that holds a dotted key, and the key's last part."""
    sections = {head: part for head, part in values.items() if isinstance(part, dict)}
    places = {name: values for name in values if name not in sections}
    for head, section in sections.items():
        places |= {f"{head}.{name}": section for name in section if name != "options"}
    # options come last: those of a mixer are in its module, which needs torch
    for head in sorted(sections, key=lambda head: not key.startswith(f"{head}.")):
        if key in places:
            break
        places = _option_places(head, sections[head]) | places
    if key not in places and key.startswith(f"{PRETRAINING}."):
        raise UserError(f"{key} belongs to a run that is pretrained; add --pretrain STEPS")
    if key not in places:
        raise unknown("recipe key", key, places)
    return places[key], key.rpartition(".")[2]


def _option_places(head: str, section: dict[str, Value]) -> dict[str, dict[str, Value]]:
    """Find the dictionary that holds the options of the task or of the mixer."""
    options = section.get("options")
    if not isinstance(options, dict):
        return {}
    return {f"{head}.{name}": options for name in _options(head, section)}


def _options(head: str, section: dict[str, Value]) -> Iterable[str]:
    """List the options that the chosen task or mixer has."""
    if head == "task":
        return tasks.find(str(section["name"])).options_type.model_fields
    return attention.find(str(section["mixer"])).options_type.model_fields

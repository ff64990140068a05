"""Longer sequences for a trained run: its learned positions are copied, and training goes on.

    recipe = extended(preset("text", "transformer", "cpu"), 2048)
    recipe_before(recipe)      the recipe of the run that it begins with

Both runs have the same task, model and seed; the second has longer sequences, fewer steps and a
lower rate. `training/extension.py` copies the weights.

Paper:  Beltagy et al. (2020), Longformer, https://arxiv.org/abs/2004.05150, section 5: from 512
        positions of RoBERTa to 4,096, with all weights free, or only the positions that are new
Choice: a quarter of the steps and a tenth of the rate. The paper goes on with a twentieth of
        RoBERTa's rate; its notebook says that a few thousand steps are enough.
Choice: a run is extended once. From 512 to 4,096 is one step in the paper too.
"""

from longarena import tasks
from longarena.errors import UserError
from longarena.options import Value, Values
from longarena.recipes.extension import Extension
from longarena.recipes.recipe import Recipe, build_task, override, replace

LENGTHS = ("max_length", "length")  # what tasks call the greatest length of a sequence
LESS_STEPS, LESS_RATE = 4, 10
WARMUP, NUM_VALIDATIONS, NUM_LINES, NUM_CHECKPOINTS = 10, 4, 20, 10
EVERYWHERE = {
    "sinusoidal": "are computed, so they exist at any length already",
    "rotary": "are computed, so they exist at any length already",
    "none": "do not exist",
}


def extended(  # noqa: PLR0913 - each by its name
    recipe: Recipe,
    length: int,
    *,
    only_positions: bool = False,
    steps: int | None = None,
    rate: float | None = None,
    changes: tuple[str, ...] = (),
) -> Recipe:
    """Derive the recipe of a run that goes on with longer sequences where another has ended.

    >>> from longarena.recipes.presets import preset
    >>> recipe = extended(preset("text", "transformer", "cpu"), 2048)
    >>> recipe.task.options["max_length"], recipe.steps, recipe.extension.length
    (2048, 400, 256)
    """
    option = _length_option(recipe)
    _check(recipe)
    before = build_task(recipe).signature.max_length
    longer = continued(recipe, {**recipe.task.options, option: length}, steps, rate)
    longer = override(longer, changes)
    reached = build_task(longer).signature.max_length
    if reached <= before:
        raise UserError(
            f"{recipe.task.name} has sequences of up to {before:,} tokens in the run already, and "
            f"{reached:,} at --length {length}; choose a greater length, if the data has any"
        )
    return _with_extension(longer, recipe, before, only_positions)


def continued(
    recipe: Recipe, options: Values, steps: int | None = None, rate: float | None = None
) -> Recipe:
    """Derive the second part of a run: the task under other options, fewer steps, a lower rate."""
    steps = steps or max(1, recipe.steps // LESS_STEPS)
    optimiser = recipe.optimiser
    rate = rate or optimiser.rate / LESS_RATE
    slow_rate = optimiser.slow_rate and optimiser.slow_rate * (rate / optimiser.rate)
    changed: dict[str, Value] = {
        "task": recipe.task.model_dump(mode="json") | {"options": options},
        "optimiser": optimiser.model_dump(mode="json") | {"rate": rate, "slow_rate": slow_rate},
        "schedule": recipe.schedule.model_dump(mode="json") | {"warmup_steps": steps // WARMUP},
        "steps": steps,
        "evaluate_every": max(1, steps // NUM_VALIDATIONS),
        "log_every": max(1, steps // NUM_LINES),
        "checkpoint_every": max(1, steps // NUM_CHECKPOINTS),
    }
    return replace(recipe, **changed)


def recipe_before(recipe: Recipe) -> Recipe | None:
    """Return the recipe of the run whose positions were copied; None if there is none."""
    if recipe.extension is None:
        return None
    return replace(recipe, extension=None, **recipe.extension.before)


def _with_extension(longer: Recipe, recipe: Recipe, length: int, only_positions: bool) -> Recipe:
    now, then = (each.model_dump(mode="json") for each in (longer, recipe))
    if now["model"] != then["model"]:
        raise UserError("an extended run has the model of the run before; leave out --set model...")
    before = {name: value for name, value in then.items() if now[name] != value}
    free = "positions" if only_positions else "all"
    extension = Extension(length=length, free=free, before=before)
    return replace(longer, extension=extension.model_dump(mode="json"))


def _length_option(recipe: Recipe) -> str:
    fields = tasks.find(recipe.task.name).options_type.model_fields
    found = [name for name in LENGTHS if name in fields]
    if not found:
        raise UserError(f"the sequences of {recipe.task.name} have one length; nothing to extend")
    return found[0]


def _check(recipe: Recipe) -> None:
    """Refuse a run in which there is nothing to copy."""
    model = recipe.model
    if recipe.extension is not None:
        first = recipe_before(recipe)
        begun = f" {first.id}" if first else ""
        raise UserError(f"run {recipe.id} is extended already; extend the run before{begun}")
    if recipe.masking is not None:
        raise UserError(f"run {recipe.id} is a pretraining; extend the run that began with it")
    if model.positions != "learned":
        raise UserError(
            f"the positions of this run ({model.positions}) {EVERYWHERE[model.positions]}; only "
            "learned ones are copied: --set model.positions=learned for the run before"
        )

"""Self-pretraining: before a run is asked its question, its backbone fills in hidden inputs.

    recipe = pretrained(preset("image", "transformer", "cpu"), steps=400)
    start_of(recipe)      the recipe of the run that is trained first

Both runs have the same task, data, model, seed, precision and batch, and the first one sees the
training split alone, without its labels. A start is derived, never stored: whatever changes in a
recipe changes in its start too, and recipes that differ only in what comes afterwards (label
smoothing, patience, a rate where the pretraining has its own) share one start.

Paper:  Amos, Berant & Gupta (2024), https://arxiv.org/abs/2310.02980
Choice: hidden are 50 % of the pixels of images, 15 % of text, 10 % of ListOps, as in section 2 of
        the paper, and 25 % of other values, as there for speech and pulses (appendix C.3). A task
        from outside goes by what it is made of.
Choice: a hidden value is asked for as a number, with the absolute error as loss, where the model
        reads numbers; in the Pathfinders as one of 256 tokens, by cross entropy, as in the authors'
        configuration files. Where a model looks tokens up, it names tokens.
Choice: the schedule has the shape of the run's own: its warm-up takes the same share of the steps.
        The authors search over rates and batches; here the run's own are the default.
Choice: a start validates four times. The run goes on with the best parameters on validation, as in
        the paper.
"""

from longarena.errors import UserError
from longarena.recipes.extending import recipe_before
from longarena.recipes.masking import Masking
from longarena.recipes.recipe import PRETRAINING, Recipe, build_task, replace
from longarena.tasks.base import Task

PIXELS, VALUES, TEXT = 0.5, 0.25, 0.15
CONTOURS = ("pathfinder", "path-x", "pathfinder-64", "pathfinder-256")
SHARES = {
    "listops": 0.1,
    "text": TEXT,
    "retrieval": TEXT,
    "image": PIXELS,
    "digits": VALUES,
    **dict.fromkeys(CONTOURS, PIXELS),
}
NUM_VALIDATIONS, NUM_LINES, NUM_CHECKPOINTS = 4, 20, 10


def pretrained(recipe: Recipe, steps: int, rate: float | None = None) -> Recipe:
    """Derive the recipe of a run that is pretrained for so many steps, at its own rate or another.

    >>> from longarena.recipes.presets import preset
    >>> recipe = pretrained(preset("listops", "linear"), steps=100)
    >>> recipe.pretraining
    Pretraining(share=0.1, target='token', steps=100, rate=None)
    >>> start_of(recipe).steps, start_of(recipe).masking
    (100, Masking(share=0.1, target='token'))
    """
    task = build_task(recipe)
    track = task.signature.track
    if track != "classification" and ":" not in track:
        raise UserError(
            f"{recipe.task.name} is of the track {track}, which cannot be pretrained; "
            "leave out --pretrain"
        )
    masking = usual_masking(recipe) or _masking_of(task, recipe)
    return replace(recipe, pretraining=masking.model_dump() | {"steps": steps, "rate": rate})


def start_of(recipe: Recipe) -> Recipe | None:
    """Derive the recipe of the run that is trained first; None if there is none.

    A run that was extended begins with the one before, which may have been pretrained in its turn.
    """
    chosen = recipe.pretraining
    if recipe.extension is not None:
        return recipe_before(recipe)
    if chosen is None:
        return None
    steps, schedule = chosen.steps, recipe.schedule
    warmup_steps = round(schedule.warmup_steps * steps / recipe.steps)
    optimiser = {"rate": chosen.rate or recipe.optimiser.rate}
    return recipe.model_copy(
        update={
            "pretraining": None,
            "masking": Masking(share=chosen.share, target=chosen.target),
            "optimiser": recipe.optimiser.model_copy(update=optimiser),
            "schedule": schedule.model_copy(update={"warmup_steps": warmup_steps}),
            "steps": steps,
            "evaluate_every": max(1, steps // NUM_VALIDATIONS),
            "log_every": max(1, steps // NUM_LINES),
            "checkpoint_every": max(1, steps // NUM_CHECKPOINTS),
            "validate_on": None,
            "patience": None,
            "average_checkpoints": 1,
            "label_smoothing": 0.0,
        }
    )


def usual_masking(recipe: Recipe) -> Masking | None:
    """Return what is hidden and asked in a built-in task; None for one from outside."""
    name = recipe.task.name
    if name not in SHARES:
        return None
    is_number = recipe.model.input == "value" and name not in CONTOURS
    return Masking(share=SHARES[name], target="value" if is_number else "token")


def _masking_of(task: Task, recipe: Recipe) -> Masking:
    """Choose what is hidden and asked in a task from outside, by what it is made of."""
    has_values = task.signature.has_values
    share = PIXELS if task.card.image_shape else VALUES if has_values else TEXT
    return Masking(share=share, target="value" if recipe.model.input == "value" else "token")


def apart(assignments: list[str]) -> tuple[list[str], list[str]]:
    """Part the `key=value` lines of a pretraining, which come after it, from the others."""
    own = [line for line in assignments if line.startswith(f"{PRETRAINING}.")]
    return [line for line in assignments if line not in own], own

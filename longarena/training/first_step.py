"""The first step of a run: if that is not finite, no rate is to blame.

A later step may diverge because the steps were too long. The loss of the first one is that of the
parameters as they were drawn, and its gradient is theirs too; where either is not a finite number,
the mechanism or the data is wrong, and the run ends with a line that says which.
"""

import math

import torch
from torch import Tensor

from longarena.data.batches import Batch
from longarena.errors import UserError
from longarena.recipes.recipe import Recipe
from longarena.tasks.signature import Signature
from longarena.tracks import track_of
from longarena.training.step import Learner


def check_first_step(learner: Learner, loss: float, batch: Batch, signature: Signature) -> None:
    """Refuse to go on after a first step whose loss or gradient was not finite."""
    if not math.isfinite(loss):
        what = "loss"
    elif is_lost(learner) and not has_finite_gradient(learner.recipe, signature, batch):
        what = "gradient"
    else:
        return
    recipe = learner.recipe
    layer = blame(recipe, signature, batch)
    found = f"the mixer of layer {layer} returned" if layer else "though its mixers return no"
    raise UserError(
        f"{recipe.task.name} {recipe.model.mixer}: the {what} of the first step is not finite, "
        f"which no rate explains: {found} NaN or infinity; "
        f"try: longarena check {recipe.model.mixer}"
    )


def is_lost(learner: Learner) -> bool:
    """Tell whether a parameter is no number any more: by its gradient, or by an endless step."""
    return any(bool(p.isnan().any()) for p in learner.model.parameters())


def has_finite_gradient(recipe: Recipe, signature: Signature, batch: Batch) -> bool:
    """Compute the gradient of the first step once more, from the parameters of the start."""
    track = track_of(signature)
    model = track.build(recipe.model, signature, recipe.seed)
    model.begin_step(0)
    track.judge(model, batch.to(torch.device("cpu"))).objective.backward()  # type: ignore[no-untyped-call]
    return all(bool(p.grad.isfinite().all()) for p in model.parameters() if p.grad is not None)


@torch.no_grad()
def blame(recipe: Recipe, signature: Signature, batch: Batch) -> int | None:
    """Return the first layer whose mixer has no finite answer with the parameters of the start."""
    track = track_of(signature)
    model = track.build(recipe.model, signature, recipe.seed)
    model.begin_step(0)
    found: list[int] = []
    for layer, mixer in enumerate(model.backbone.encoder.mixers(), start=1):

        def look(_: object, given: tuple[Tensor, Tensor], y: Tensor, layer: int = layer) -> None:
            if not y[given[1]].isfinite().all():
                found.append(layer)

        mixer.register_forward_hook(look)
    track.judge(model, batch.to(torch.device("cpu")))
    return min(found, default=None)

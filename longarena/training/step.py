"""The one training step: `measure` times what `train` trains."""

from dataclasses import dataclass
from typing import Any

from torch import Tensor
from torch.optim import Optimizer

from longarena.attention.own import named, own_kind
from longarena.data.batches import Batch
from longarena.model.model import Model, num_parameters
from longarena.recipes.recipe import Recipe
from longarena.recipes.schedule import rate
from longarena.seeding import seeded
from longarena.tasks.signature import Signature
from longarena.tracks import track_of
from longarena.tracks.base import Track
from longarena.tracks.tally import Tally
from longarena.training.devices import Devices
from longarena.training.extension import freeze, held_length, hold_positions
from longarena.training.optimiser import build_optimiser


@dataclass(frozen=True)
class Learner:
    """A model with everything that trains it; `wrapped` is the model as its devices run it.

    `num_parameters` counts those that are held still in this run, too.
    """

    recipe: Recipe
    track: Track
    devices: Devices
    model: Model
    wrapped: Any
    optimiser: Optimizer
    num_parameters: int


def build_learner(recipe: Recipe, signature: Signature, devices: Devices) -> Learner:
    """Build the model and the optimiser of a recipe on some devices."""
    track = track_of(signature)
    model = track.build(recipe.model, signature, recipe.seed)
    number, held = num_parameters(model), held_length(recipe)
    if held:
        freeze(model, held)
    if recipe.compile:
        # batches differ in length, and a graph per length would never stop compiling
        model.compile(dynamic=True)
    optimiser = build_optimiser(model, recipe.optimiser)
    if held:
        hold_positions(optimiser, model, held)
    wrapped, optimiser = devices.setup(model, optimiser)
    return Learner(recipe, track, devices, model, wrapped, optimiser, number)


def take_step(learner: Learner, batch: Batch, step: int) -> Tally:
    """Take one optimiser step on this process's share of a batch; return the share's tally."""
    recipe, devices = learner.recipe, learner.devices
    whole = learner.track.weight(batch)
    share = batch.part(devices.global_rank, devices.world_size)
    for group in learner.optimiser.param_groups:
        group["lr"] = rate(recipe.schedule, group["peak_rate"], step, recipe.steps)
    learner.model.begin_step(step)
    tally = Tally.zero(devices.device)
    for which in range(recipe.accumulate):
        is_last = which == recipe.accumulate - 1
        with (
            seeded(recipe.seed, "dropout", step, which, devices.global_rank),
            devices.no_backward_sync(learner.wrapped, enabled=not is_last),
        ):
            tally += _accumulate(learner, share.part(which, recipe.accumulate), whole)
    if recipe.optimiser.clip is not None:
        devices.clip_gradients(learner.wrapped, learner.optimiser, max_norm=recipe.optimiser.clip)
    learner.optimiser.step()
    learner.optimiser.zero_grad()
    learner.model.end_step()
    return tally


def _accumulate(learner: Learner, part: Batch, whole: int | Tensor) -> Tally:
    """Add the gradient of one part of a batch whose weight is `whole`."""
    part = part.to(learner.devices.device)
    judged = learner.track.judge(learner.wrapped, part, learner.recipe.label_smoothing)
    objective, extra = judged.objective, learner.model.extra_loss()
    if extra is not None:
        objective = objective + extra * learner.track.weight(part)
    # the processes average their gradients, so each scales its own up by their number
    with named(own_kind(learner.model.mixers()), "the backward pass"):
        learner.devices.backward(objective * (learner.devices.world_size / whole))
    return judged.tally

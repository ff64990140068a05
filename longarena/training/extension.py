"""The run whose positions are copied: its weights at a greater length, and what of them is trained.

    new[i] = old[i % length]      for the positions of the tokens; those of tokens that the model
                                  puts before a sequence (CLS, global ones) stay where they are

Everything else is taken over as it was best on validation, the head too; the optimiser is new. With
`free="positions"` only positions from `length` on are trained: sequences that fit the run before
are answered as they were.

Paper:  Beltagy et al. (2020), Longformer, https://arxiv.org/abs/2004.05150, section 5; code:
        scripts/convert_model_to_long.ipynb of github.com/allenai/longformer, which leaves RoBERTa's
        two special positions in place as well
Choice: positions that the run before never read, because batches are padded to whole buckets, are
        not copied.
Choice: what a mixer drew for its length and never learned (random blocks) is drawn anew.
Choice: batch norm keeps its running values where only positions are free, and uses them.
"""

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.optim import Optimizer

from longarena.attention import Mixer
from longarena.data.tensors import Tensors, check_fit
from longarena.errors import UserError
from longarena.model.model import Model
from longarena.model.norms import BatchNorm
from longarena.recipes.extending import recipe_before
from longarena.recipes.recipe import Recipe, build_task
from longarena.tracks import track_of
from longarena.training.best import read_best
from longarena.training.start import Start

POSITION = "backbone.embedding.position"
NO_POSITIONS = "this mechanism has positions of its own, not learned ones; there is nothing to copy"


@dataclass(frozen=True)
class LongerStart(Start):
    """A run that has ended, whose sequences were shorter."""

    def load(self, model: Model) -> None:
        """Put the parameters that did best on validation into a model for longer sequences."""
        tensors = read_best(self.folder).tensors
        model.load_state_dict(longer_tensors(tensors, model, self.record.length or 1))


def copied(
    old: Float[Tensor, "old width"], rows: int, length: int, num_prepended: int = 0
) -> Float[Tensor, "rows width"]:
    """Repeat the positions of `length` tokens, end to end, up to so many rows in all.

    >>> copied(torch.arange(4.0)[:, None], rows=8, length=3, num_prepended=1)[:, 0].tolist()
    [0.0, 1.0, 2.0, 3.0, 1.0, 2.0, 3.0, 1.0]
    """
    again = torch.arange(rows - num_prepended) % length
    return torch.cat([old[:num_prepended], old[num_prepended:][again]])


def longer_tensors(tensors: Tensors, model: Model, length: int) -> Tensors:
    """Fit the tensors of a model for sequences of `length` tokens to one for longer sequences."""
    position = model.backbone.embedding.position
    if POSITION not in tensors or not isinstance(position, nn.Parameter):
        raise UserError(NO_POSITIONS)
    found = copied(tensors[POSITION], len(position), length, model.backbone.num_prepended)
    wanted = {**tensors, **_drawn_anew(tensors, model), POSITION: found}
    try:
        check_fit(model.state_dict(), wanted)
    except ValueError as error:
        name = str(error).rpartition(" ")[2]
        raise UserError(
            f"this mechanism has weights whose number depends on the length ({name}), which cannot "
            "be copied; train it at the new length"
        ) from None
    return wanted


def _drawn_anew(tensors: Tensors, model: Model) -> Tensors:
    """Collect what was drawn for a length and is not learned, where that differs."""
    return {
        name: tensor
        for name, tensor in model.named_buffers()
        if name in tensors and tensors[name].shape != tensor.shape
    }


def check_extension(recipe: Recipe) -> None:
    """Refuse a run whose mechanism cannot be extended, before anything is trained."""
    before = recipe_before(recipe)
    if before is None or recipe.extension is None:
        return
    then, now = (_built(each) for each in (before, recipe))
    longer_tensors(then.state_dict(), now, recipe.extension.length)
    if recipe.extension.free == "positions":
        _check_still(now)


def _built(recipe: Recipe) -> Model:
    signature = build_task(recipe).signature
    return track_of(signature).build(recipe.model, signature, recipe.seed)


def held_length(recipe: Recipe) -> int | None:
    """Return how many positions are held still with everything else; None if all is free."""
    extension = recipe.extension
    return extension.length if extension and extension.free == "positions" else None


def freeze(model: Model, length: int) -> None:
    """Let nothing of a model learn but its positions from `length` on."""
    _check_still(model)
    position, number = _positions(model, length)
    model.requires_grad_(False)
    position.requires_grad_(True)
    # the norm of the gradient is that of what can move
    position.register_hook(  # type: ignore[no-untyped-call]
        lambda grad: torch.cat([torch.zeros_like(grad[:number]), grad[number:]])
    )
    for module in model.modules():
        if isinstance(module, BatchNorm):
            module.is_frozen = True


def hold_positions(optimiser: Optimizer, model: Model, length: int) -> None:
    """Put the first positions back after every step: a decay moves them without a gradient."""
    position, number = _positions(model, length)
    kept = position.detach()[:number].clone()

    def keep(*_: Any) -> None:
        kept.copy_(position.detach()[:number])

    @torch.no_grad()
    def restore(*_: Any) -> None:
        position[:number] = kept

    optimiser.register_step_pre_hook(keep)
    optimiser.register_step_post_hook(restore)


def _positions(model: Model, length: int) -> tuple[nn.Parameter, int]:
    """Return the positions of a model, and how many of them the run before had."""
    position = model.backbone.embedding.position
    if not isinstance(position, nn.Parameter):
        raise UserError(NO_POSITIONS)
    return position, model.backbone.num_prepended + length


def _check_still(model: Model) -> None:
    """Refuse a mixer that learns without gradients."""
    for mixer in model.mixers():
        if type(mixer).end_step is not Mixer.end_step:
            raise UserError(
                "this mechanism moves its state after every step, so it cannot be held still; "
                "leave out --only-positions"
            )

"""Required attention span: how far a trained model looks, on average.

For one sample, head and layer, the mean over real queries i of

    s_i = sum_j |a_ij| |i - j| / sum_j |a_ij|

with the effective attention matrix a of the mechanism, whichever it is; then the mean over samples.
The columns of the matrix are made a few at a time, so that no N x N matrix is in memory.

Paper:  Tay et al. (2021), section 2.3, https://arxiv.org/abs/2011.04006
Choice: padded queries are left out; the paper's rule for them is not known, and with its masks
        they would look everywhere. Tokens that were put before the sequence (CLS, global ones)
        are left out as queries and as keys, because their place says nothing about distance.
Choice: every sample has the same weight, whatever its length.
"""

from datetime import UTC, datetime

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from longarena.attention import Attention, Mixer
from longarena.data.batches import assemble
from longarena.data.dataset import Split
from longarena.errors import UserError
from longarena.model.model import Model
from longarena.progress import SILENT, Progress
from longarena.records.record import SpanRecord
from longarena.runtime import machine, versions
from longarena.seeding import numpy_rng
from longarena.shapes import Mask, Tokens
from longarena.tasks.base import default_home
from longarena.tasks.prepare import obtain
from longarena.training.best import check_data, load_run
from longarena.training.folder import RunFolder

SAMPLES, BATCH_SIZE = 1000, 4


def span(folder: RunFolder, samples: int = SAMPLES, progress: Progress = SILENT) -> SpanRecord:
    """Measure how far the best parameters of a run look, on samples of the validation split."""
    best = load_run(folder)
    recipe, task, model = best.recipe, best.task, best.model.eval()
    if not all(isinstance(mixer, Attention) for mixer in model.backbone.encoder.mixers()):
        raise UserError(f"{recipe.model.mixer} has no attention matrix, so it has no span")
    data = obtain(task, default_home(), progress)
    check_data(best.state.fingerprint, data, folder)
    split = best.track.examples(data.split("valid"), best.signature)
    chosen = _choose(split, samples, recipe.seed)
    spans = _measure(model, split, chosen, progress)
    return SpanRecord(
        id=recipe.id,
        recipe=recipe,
        variant=task.variant,
        fingerprint=data.fingerprint,
        samples=len(chosen),
        mean_length=float(split.lengths[chosen].mean()),
        mean_span=float(spans.mean()),
        spans=spans.tolist(),
        machine=machine(),
        versions=versions(),
        finished_at=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def mean_distance(
    mixer: Attention[object], x: Tokens, mask: Mask, num_prepended: int = 0
) -> Float[Tensor, "batch heads"]:
    """Return the mean distance over which the real queries of each row look, by head."""
    batch, length, _ = x.shape
    position = torch.arange(length, device=x.device)
    plan = mixer.plan(x, mask)
    weighted = torch.zeros(batch, mixer.place.num_heads, length, device=x.device, dtype=x.dtype)
    total = torch.zeros_like(weighted)
    for keys in torch.split(position[num_prepended:], mixer.place.head_size):
        unit = (position[:, None] == keys).to(x.dtype)
        values = unit.expand(batch, mixer.place.num_heads, -1, -1).contiguous()
        # a padded key does not count, whatever its column holds
        weights = mixer.apply(plan, values).abs() * mask[:, None, None, keys]
        weighted += (weights * (position[:, None] - keys).abs()).sum(dim=-1)
        total += weights.sum(dim=-1)
    real = (mask & (position >= num_prepended))[:, None]
    spans = weighted / total.clamp_min(torch.finfo(x.dtype).tiny) * real
    return spans.sum(dim=-1) / real.sum(dim=-1).clamp_min(1)


@torch.inference_mode()
def _measure(
    model: Model, split: Split, chosen: np.ndarray, progress: Progress
) -> Float[Tensor, "layers heads"]:
    """Average over samples, by layer and head."""
    sums = torch.zeros(len(list(model.backbone.encoder.mixers())), 0)
    counted = 0
    with progress.bar("attention span", total=len(chosen)) as bar:
        for start in range(0, len(chosen), BATCH_SIZE):
            examples = chosen[start : start + BATCH_SIZE]
            inputs = _inputs(model, assemble(split, examples).ids)
            seen = [
                mean_distance(mixer, x, mask, model.backbone.num_prepended).sum(dim=0)
                for mixer, x, mask in inputs
            ]
            found = torch.stack(seen)
            sums = found if not counted else sums + found
            # an example may have two sequences, of which the model may read only one
            counted += len(inputs[0][1])
            bar.advance(len(examples))
    return sums / counted


def _inputs(model: Model, ids: Tensor) -> list[tuple[Attention[object], Tensor, Tensor]]:
    """Run the model and capture the input of every mixer."""
    caught: list[tuple[Attention[object], Tensor, Tensor]] = []

    def catch(mixer: Mixer, given: tuple[Tensor, Tensor]) -> None:
        caught.append((mixer, *given))  # type: ignore[arg-type]

    hooks = [mixer.register_forward_pre_hook(catch) for mixer in model.backbone.encoder.mixers()]
    try:
        model(ids)
    finally:
        for hook in hooks:
            hook.remove()
    return caught


def _choose(split: Split, samples: int, seed: int) -> np.ndarray:
    """Draw samples of the validation split, in the order of their lengths."""
    count = min(samples, len(split))
    chosen = numpy_rng(seed, "span").choice(len(split), size=count, replace=False)
    return np.asarray(chosen[np.argsort(split.lengths[chosen], kind="stable")])

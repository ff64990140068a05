"""Score a run again: on a split of its data, or at lengths of your choice."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import torch
from torch import nn

from longarena.data.dataset import Split
from longarena.errors import UserError
from longarena.model.decoding import Decoding
from longarena.options import Value, parse
from longarena.progress import SILENT, Progress
from longarena.records.lengths import LengthScore
from longarena.records.record import SplitScore
from longarena.tasks.base import default_home
from longarena.tasks.prepare import obtain
from longarena.tracks.base import Evaluation, Track
from longarena.tracks.metric import Metric
from longarena.training.best import BestModel, check_data, load_run
from longarena.training.devices import launch
from longarena.training.folder import RunFolder
from longarena.training.lengths import score_lengths
from longarena.training.run import split_score


@dataclass(frozen=True)
class EvaluatedRun:
    """What a run's best parameters score on a split, and by which metric."""

    metric: Metric
    score: SplitScore


@dataclass(frozen=True)
class EvaluatedLengths:
    """What a run's best parameters score at some lengths, and by which metric."""

    metric: Metric
    scores: list[LengthScore]


def evaluate_run(
    folder: RunFolder,
    split: str,
    progress: Progress = SILENT,
    decoding: Mapping[str, Value] | None = None,
) -> EvaluatedRun:
    """Score the best parameters of a run on a split; `decoding` changes how it writes."""
    best = _read_best(folder, decoding or {})
    task, recipe = best.loaded.task, best.loaded.recipe
    data = obtain(task, default_home(), progress)
    check_data(best.loaded.state.fingerprint, data, folder)
    examples = best.track.examples(data.split(split), best.loaded.signature)
    found = best.evaluate(examples, recipe.batch_size, progress)
    score = split_score(found)
    if score is None:
        raise UserError(f"run {folder.path.name} has no score on {split}: its loss is no number")
    return EvaluatedRun(best.track.metric, score)


def evaluate_lengths(
    folder: RunFolder, lengths: Iterable[int], split: str = "test", progress: Progress = SILENT
) -> EvaluatedLengths:
    """Score the best parameters of a run at some lengths, on new examples of a split."""
    best = _read_best(folder, {})
    scores = score_lengths(best.loaded.task, lengths, best.evaluate, split, progress)
    return EvaluatedLengths(best.track.metric, scores)


@dataclass(frozen=True)
class _Best:
    """The best parameters of a run on its device."""

    loaded: BestModel
    track: Track
    model: nn.Module
    device: torch.device

    def evaluate(self, split: Split, batch_size: int, progress: Progress = SILENT) -> Evaluation:
        return self.track.evaluate(self.model, split, batch_size, self.device, progress)


def _read_best(folder: RunFolder, decoding: Mapping[str, Value]) -> _Best:
    best = load_run(folder)
    devices = launch(best.recipe)
    chosen = parse(Decoding, best.recipe.decoding.model_dump() | dict(decoding), "decoding")
    track = best.track.with_decoding(chosen)
    if decoding and track is best.track:
        raise UserError(
            f"run {folder.path.name} translates nothing; leave out {', '.join(sorted(decoding))}"
        )
    return _Best(best, track, devices.setup_module(best.model), devices.device)

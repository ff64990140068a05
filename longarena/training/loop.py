"""Train a recipe: the same call starts a run, resumes it, or reads what it found."""

import json
import math
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from longarena.data.files import locked, write_atomically
from longarena.data.ragged import Split, Store
from longarena.model.build import build_classifier, num_parameters
from longarena.progress import SILENT, Progress
from longarena.recipes.recipe import Recipe, build_task
from longarena.runtime import machine, peak_resident_bytes, versions
from longarena.store.folder import write_record
from longarena.store.record import Curve, RunMetrics, RunRecord, SplitScore, Status
from longarena.tasks.base import default_home
from longarena.tasks.prepare import obtain, open_prepared
from longarena.training.devices import first_alone, launch
from longarena.training.evaluate import Evaluation, evaluate, majority_share
from longarena.training.folder import RunFolder
from longarena.training.run import Host, Run
from longarena.training.stop import stop_requests
from longarena.training.tensorboard import check_tensorboard

if TYPE_CHECKING:
    from lightning_fabric import Fabric

# a run whose late loss is this near to that of the best constant answer has learnt next to nothing
COLLAPSE_MARGIN = 0.01
LATE = 0.75


def train(  # noqa: PLR0913 - the one call from outside: everything but the recipe by its name
    recipe: Recipe,
    runs: Path = Path("runs"),
    *,
    store: Path | None = None,
    devices: int = 1,
    tensorboard: bool = False,
    progress: Progress = SILENT,
) -> RunRecord:
    """Bring the run of a recipe to its end and return its record.

    A run that has ended is only read; one that was stopped goes on from its last checkpoint. The
    record is also written to `store`, by default the folder `records` beside the runs.
    """
    if tensorboard:
        check_tensorboard()
    fabric = launch(recipe, devices)
    folder = RunFolder.of(runs, recipe)
    progress = progress if fabric.is_global_zero else SILENT
    with ExitStack() as held:
        first_alone(fabric, lambda: _enter(held, recipe, folder, progress))
        record = folder.read_record()
        if record is None:
            record = _train(Host(fabric, progress, tensorboard), recipe, folder)
        if fabric.is_global_zero:
            write_record(store or runs / "records", record)
    return record


def _enter(held: ExitStack, recipe: Recipe, folder: RunFolder, progress: Progress) -> None:
    """Take hold of a run; unless it has ended, prepare its data and write down what it is."""
    busy = f"run {recipe.id} is in use by another process ({folder.path}); wait for it to end"
    held.enter_context(locked(folder.lock, busy))
    if folder.read_record() is None:
        obtain(build_task(recipe), default_home(), progress)
        folder.write_recipe(recipe)


def _train(host: Host, recipe: Recipe, folder: RunFolder) -> RunRecord:
    """Train to the end; the first process writes the record."""
    data = open_prepared(build_task(recipe), default_home())
    run = Run(host, recipe, folder, data)
    with stop_requests() as stop:
        status = run.fit(stop)
    record = _conclude(run, data, status)
    if host.fabric.is_global_zero:
        write_atomically(folder.record, record.model_dump_json(indent=2) + "\n")
    return record


def evaluate_run(folder: RunFolder, split: str, progress: Progress = SILENT) -> SplitScore:
    """Score the best parameters of a run on a split."""
    recipe = folder.read_recipe()
    data = obtain(build_task(recipe), default_home(), progress)
    return _score_best(launch(recipe), recipe, folder, data.split(split)).score


def _score_best(fabric: "Fabric", recipe: Recipe, folder: RunFolder, split: Split) -> Evaluation:
    best = folder.read_best()
    classifier = build_classifier(recipe.model, build_task(recipe).card, recipe.seed)
    classifier.load_state_dict(best)
    model = fabric.setup(classifier)
    return evaluate(model, split, recipe.batch_size, fabric.device)


def _conclude(run: Run, data: Store, status: Status) -> RunRecord:
    """Read the test split, once, with the parameters that did best on validation."""
    state, recipe, train_split = run.state, run.recipe, data.split("train")
    majority = majority_share(train_split, data.split("test"))
    found = None
    if status != "diverged":
        found = _score_best(run.fabric, recipe, run.folder, data.split("test"))
        # a loss hardly better than that of a constant can go with answers that are
        is_lost = not found.score.is_above(majority) and has_collapsed(run.folder, train_split)
        status = "collapsed" if is_lost else status
    if found is not None and not math.isfinite(found.score.loss):
        found, status = None, "diverged"
    seconds = max(state.timed_seconds, 1e-9)
    metrics = RunMetrics(
        valid=state.best,
        test=found.score if found else None,
        confusion=found.confusion.tolist() if found else None,
        majority=majority,
        best_step=state.best_step,
        steps=state.step,
        steps_per_second=state.timed_steps / seconds,
        tokens_per_second=state.timed_tokens / seconds,
        peak_resident_bytes=peak_resident_bytes(),
        parameters=num_parameters(run.classifier),
        padding_share=run.batches.padding_share(),
        train_seconds=state.timed_seconds,
    )
    return RunRecord(
        id=recipe.id,
        recipe=recipe,
        variant=build_task(recipe).variant,
        fingerprint=data.fingerprint,
        status=status,
        metrics=metrics,
        curve=Curve(steps=state.curve_steps, valid_accuracy=state.curve_accuracy),
        machine=machine(),
        versions=versions(),
        finished_at=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def has_collapsed(folder: RunFolder, train_split: Split) -> bool:
    """Tell whether the late training loss is still that of the best constant answer."""
    lines = [json.loads(line) for line in folder.log.read_text().splitlines()]
    losses = [line["loss"] for line in lines if "loss" in line]
    late = losses[math.floor(LATE * len(losses)) :]
    shares = np.bincount(train_split.labels) / len(train_split)
    entropy = -sum(share * math.log(share) for share in shares if share > 0)
    return bool(np.mean(late) > (1 - COLLAPSE_MARGIN) * entropy)

"""Train a recipe: the same call starts a run, resumes it, or reads what it found."""

import resource
from datetime import UTC, datetime
from pathlib import Path

from longarena.data.files import locked, write_atomically
from longarena.data.ragged import Store
from longarena.model.build import num_parameters
from longarena.progress import SILENT, Progress
from longarena.recipes.recipe import Recipe, build_task
from longarena.runtime import check_precision, machine, versions
from longarena.store.folder import write_record
from longarena.store.record import Curve, RunMetrics, RunRecord, SplitScore, Status
from longarena.tasks.base import default_home
from longarena.tasks.prepare import obtain
from longarena.training.checkpoint import load_tensors
from longarena.training.evaluate import evaluate, majority_share
from longarena.training.folder import RunFolder
from longarena.training.run import Run
from longarena.training.stop import stop_requests


def train(
    recipe: Recipe,
    runs: Path = Path("runs"),
    store: Path | None = None,
    progress: Progress = SILENT,
) -> RunRecord:
    """Bring the run of a recipe to its end and return its record.

    A run that has ended is only read; one that was stopped goes on from its last checkpoint. The
    record is also written to `store`, by default the folder `records` beside the runs.
    """
    check_precision(recipe.precision)
    task = build_task(recipe)
    folder = RunFolder.of(runs, recipe)
    busy = f"run {recipe.id} is in use by another process ({folder.path}); wait for it to end"
    with locked(folder.lock, busy):
        record = folder.read_record()
        if record is None:
            folder.write_recipe(recipe)
            data = obtain(task, default_home(), progress)
            run = Run(recipe, folder, data, progress)
            with stop_requests() as stop:
                status = run.fit(stop)
            record = _conclude(run, data, status)
            write_atomically(folder.record, record.model_dump_json(indent=2) + "\n")
        write_record(store or runs / "records", record)
    return record


def evaluate_run(folder: RunFolder, split: str, progress: Progress = SILENT) -> SplitScore:
    """Score the best parameters of a run on a split."""
    recipe = folder.read_recipe()
    data = obtain(build_task(recipe), default_home(), progress)
    run = Run(recipe, folder, data, progress)
    return _score_best(run, data, split)


def _score_best(run: Run, data: Store, split: str) -> SplitScore:
    run.classifier.load_state_dict(load_tensors(run.folder.best))
    batch_size, device = run.recipe.batch_size, run.fabric.device
    return evaluate(run.model, data.split(split), batch_size, device)


def _conclude(run: Run, data: Store, status: Status) -> RunRecord:
    """Read the test split, once, with the parameters that did best on validation."""
    state = run.state
    test = _score_best(run, data, "test") if status == "finished" else None
    seconds = max(state.timed_seconds, 1e-9)
    metrics = RunMetrics(
        valid=state.best,
        test=test,
        majority=majority_share(data.split("train"), data.split("test")),
        best_step=state.best_step,
        steps=state.step,
        steps_per_second=state.timed_steps / seconds,
        tokens_per_second=state.timed_tokens / seconds,
        peak_resident_bytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        parameters=num_parameters(run.classifier),
        padding_share=run.batches.padding_share(),
        train_seconds=state.timed_seconds,
    )
    return RunRecord(
        id=run.recipe.id,
        recipe=run.recipe,
        variant=build_task(run.recipe).variant,
        fingerprint=data.fingerprint,
        status=status,
        metrics=metrics,
        curve=Curve(steps=state.curve_steps, valid_accuracy=state.curve_accuracy),
        machine=machine(),
        versions=versions(),
        finished_at=datetime.now(UTC).isoformat(timespec="seconds"),
    )

"""Train a recipe: the same call starts a run, resumes it, or reads what it found."""

import math
from contextlib import AbstractContextManager, ExitStack
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import numpy as np

from longarena.data.dataset import Dataset, Split
from longarena.data.files import locked, write_atomically
from longarena.options import Value
from longarena.progress import SILENT, Progress
from longarena.recipes.pretraining import start_of
from longarena.recipes.recipe import Recipe, build_task, note_source
from longarena.records.answers import Answers, write_answers
from longarena.records.folder import check_text, write_record
from longarena.records.lengths import LENGTHS
from longarena.records.record import (
    Curve,
    LateTraining,
    RunMetrics,
    RunRecord,
    Status,
    is_significant,
)
from longarena.runtime import machine, peak_resident_bytes, versions
from longarena.tasks.base import Task, default_home
from longarena.tasks.prepare import obtain, open_prepared
from longarena.tracks.base import Evaluation, Level
from longarena.training.devices import first_alone, launch
from longarena.training.extension import LongerStart
from longarena.training.folder import RunFolder
from longarena.training.lengths import score_lengths
from longarena.training.run import Host, Progressed, Run, split_score
from longarena.training.start import Start
from longarena.training.stop import stop_requests
from longarena.training.tensorboard import check_tensorboard

# a run whose late loss is this close to that of the best constant answer has learnt almost nothing
COLLAPSE_MARGIN = 0.01
LATE = 0.75


def train(  # noqa: PLR0913 - the one call from outside: everything but the recipe by its name
    recipe: Recipe,
    runs: Path = Path("runs"),
    *,
    store: Path | None = None,
    devices: int = 1,
    tensorboard: bool = False,
    again: bool = False,
    progress: Progress = SILENT,
) -> RunRecord:
    """Bring the run of a recipe to its end and return its record.

    A run that has ended is only read; one that was stopped goes on from its last checkpoint. With
    `again` it starts anew, and what it had is lost. The record is also written to the folder
    `store`, by default `records` beside the runs.
    """
    if tensorboard:
        check_tensorboard()
    recipe = note_source(recipe)
    launched = launch(recipe, devices)
    host = Host(launched, progress if launched.is_global_zero else SILENT, tensorboard)
    return _bring(host, recipe, runs, store or runs / "records", again=again)


def _bring(
    host: Host, recipe: Recipe, runs: Path, store: Path | None, *, again: bool = False
) -> RunRecord:
    """Bring a run to its end; its record is also written to `store`, if one is given."""
    folder, task = RunFolder.of(runs, recipe), build_task(recipe)
    with ExitStack() as held:
        enter = partial(_enter, held, recipe, task, folder, host.progress, again=again)
        prepared = first_alone(host.devices, enter)
        record = folder.read_record(recipe)
        if record is None:
            # the first process has verified the data; once is enough
            data = prepared or open_prepared(task, default_home(), verify=False)
            start = bring_start(host, recipe, runs, store)
            record = _train(Run(host, recipe, task, folder, data, start=start), task, data)
        if store is not None and host.devices.is_global_zero:
            write_record(store, record, folder.read_answers(record))
    return record


def bring_start(host: Host, recipe: Recipe, runs: Path, store: Path | None = None) -> Start | None:
    """Bring the run that a recipe begins with to its end, or read what it found; None if none is.

    The record of a pretraining stays in its folder: it answers no question of the task, so it is no
    result.
    """
    before = start_of(recipe)
    if before is None:
        return None
    folder = RunFolder.of(runs, before)
    found = _bring(host, before, runs, None if before.masking else store)
    length = recipe.extension.length if recipe.extension else None
    start = (LongerStart if length else Start).of(folder, found, length)
    host.progress.say(f"begun with {start.record.words}")
    return start


def _enter(  # noqa: PLR0913 - called once
    held: ExitStack,
    recipe: Recipe,
    task: Task,
    folder: RunFolder,
    progress: Progress,
    *,
    again: bool,
) -> Dataset | None:
    """Lock a run; unless it has ended, prepare its data and write its recipe."""
    held.enter_context(lock(folder))
    if again:
        folder.forget()
    return None if folder.read_record(recipe) else begin(recipe, task, folder, progress)


def lock(folder: RunFolder) -> AbstractContextManager[None]:
    """Keep other processes out of a run."""
    name = folder.path.name
    busy = f"run {name} is in use by another process ({folder.path}); wait for it to end"
    return locked(folder.lock, busy)


def begin(recipe: Recipe, task: Task, folder: RunFolder, progress: Progress) -> Dataset:
    """Prepare the data of a run and write its recipe."""
    data = obtain(task, default_home(), progress)
    folder.write_recipe(recipe)
    return data


def _train(run: Run, task: Task, data: Dataset) -> RunRecord:
    """Train to the end; the first process writes the record."""
    with stop_requests() as stop:
        status = run.fit(stop)
    record, answers = _conclude(run, task, data, status)
    if run.devices.is_global_zero:
        if answers is not None:
            write_answers(run.folder.answers, answers)
        text = record.model_dump_json(indent=2) + "\n"
        check_text(text, record)
        write_atomically(run.folder.record, text)
    return record


def _conclude(
    run: Run, task: Task, data: Dataset, status: Status
) -> tuple[RunRecord, Answers | None]:
    """Score the test split, once, with the parameters that did best on validation."""
    state, recipe, track = run.state, run.recipe, run.learner.track
    tester = track.with_decoding(recipe.decoding)
    level = track.level(data.split("train"), data.split("test"))
    examples = track.examples(data.split("test"), run.signature)
    found, test, late = None, None, None
    if status != "diverged":
        if run.best is None:
            raise RuntimeError("a run that has not diverged was validated at its last step")
        run.learner.model.load_state_dict(run.best.tensors)
        found = tester.evaluate(
            run.learner.wrapped, examples, recipe.batch_size, run.devices.device, run.progress
        )
        test = split_score(found)
    if test is None:
        found, status = None, "diverged"
    else:
        late = late_training(state, level)
        # answers can be better than a constant one although the loss hardly is
        is_lost = has_collapsed(late) and not is_significant(
            track.metric, test.value, level.score, test.error
        )
        status = "collapsed" if is_lost else status
    answers = Answers(found.scores, found.answers, found.texts) if found else None
    # before the details, which are not part of training
    peak_bytes = peak_resident_bytes()
    metrics = RunMetrics(
        valid=state.best,
        test=test,
        level=level.score,
        details=_details(run, task, examples, found) if found else {},
        best_step=state.best_step,
        steps=state.step,
        steps_per_second=state.steps_per_second,
        tokens_per_second=state.tokens_per_second,
        peak_resident_bytes=peak_bytes,
        parameters=run.learner.num_parameters,
        padding_share=run.batches.padding_share(),
        train_seconds=state.train_seconds,
        late=late,
    )
    record = RunRecord(
        id=recipe.id,
        recipe=recipe,
        metric=track.metric,
        variant=task.variant,
        fingerprint=data.fingerprint,
        status=status,
        metrics=metrics,
        curve=Curve(
            steps=state.curve_steps, seconds=state.curve_seconds, values=state.curve_values
        ),
        answers=answers.digest if answers else None,
        start=run.start.record if run.start else None,
        machine=machine(),
        versions=versions(),
        finished_at=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    return record, answers


def _details(run: Run, task: Task, test: Split, found: Evaluation) -> dict[str, Value]:
    """Collect what the track says of a test, and what causal models are compared by."""
    learner, device = run.learner, run.devices.device
    details = learner.track.details(test, found)
    if cost := learner.model.example_cost():
        details["mult_adds"] = {**cost.by_name()}
    if run.num_averaged:
        details["averaged"] = run.num_averaged
    if learner.track.is_causal:
        details["state_bytes"] = learner.model.state_bytes(int(test.lengths.max()))
    if task.tested_lengths and run.recipe.masking is None:
        scores = score_lengths(
            task,
            task.tested_lengths,
            lambda split, size: learner.track.evaluate(learner.wrapped, split, size, device),
            progress=run.progress,
        )
        details[LENGTHS] = [each.model_dump(mode="json") for each in scores]
    return details


def late_training(state: Progressed, level: Level) -> LateTraining | None:
    """Say how training ended; None if no step was logged."""
    start = math.floor(LATE * len(state.losses))
    losses, scores = state.losses[start:], state.scores[start:]
    if not losses:
        return None
    known = [score for score in scores if score is not None]
    return LateTraining(
        value=float(np.mean(known)) if len(known) == len(scores) else None,
        loss=float(np.mean(losses)),
        first_loss=state.losses[0],
        level_loss=level.loss,
    )


def has_collapsed(late: LateTraining | None) -> bool:
    """Tell whether the late training loss is still that of the best constant answer."""
    return late is not None and late.loss > (1 - COLLAPSE_MARGIN) * late.level_loss

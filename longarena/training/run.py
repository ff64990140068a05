"""One run in progress: its learner and batches, and how it steps, saves and resumes.

Everything random is a function of (seed, purpose, step) and everything else is in the checkpoint,
so a run that was killed and started again ends with the same bits as one that was not (on a CPU,
with the same number of threads).
"""

import math
import time
from dataclasses import dataclass

import torch
from pydantic import BaseModel
from torch import Tensor

from longarena.data.batches import Batch, one_ahead
from longarena.data.dataset import Dataset, Split
from longarena.data.sample import sample
from longarena.data.tensors import check_fit
from longarena.options import Value
from longarena.progress import SILENT, Progress
from longarena.recipes.recipe import Recipe, signature_of
from longarena.records.record import SplitScore, Status
from longarena.tasks.base import Task
from longarena.tracks.base import Evaluation
from longarena.tracks.tally import Tally
from longarena.training import checkpoint
from longarena.training.best import PREFIX, Best, BestState, check_data
from longarena.training.checkpoint import Checkpoint
from longarena.training.devices import Devices
from longarena.training.first_step import check_first_step
from longarena.training.folder import VALID, Log, RunFolder
from longarena.training.optimiser import load_state_tensors, state_tensors
from longarena.training.start import Start
from longarena.training.step import build_learner, take_step
from longarena.training.stop import Interrupted, StopRequest
from longarena.training.tensorboard import TensorBoardLog

# the first steps of a process are slower than the rest and are not timed
UNTIMED_STEPS = 3


class Progressed(BaseModel):
    """The state of a run, apart from its tensors: everything that its record will be made of.

    `run` and `fingerprint` say which run it is, and on which data. `tally` has the sums since the
    last line of the log, `losses` and `scores` the means of all lines.
    """

    run: str
    fingerprint: str
    step: int = 0
    tally: list[float] = Tally.zero().numbers
    timed_steps: int = 0
    timed_seconds: float = 0.0
    timed_tokens: int = 0
    best_step: int = 0
    best: SplitScore | None = None
    curve_steps: list[int] = []
    curve_seconds: list[float] = []
    curve_values: list[float] = []
    losses: list[float] = []
    scores: list[float | None] = []

    @property
    def steps_per_second(self) -> float:
        """The speed of training, without evaluation; 0 before anything was timed."""
        return self.timed_steps / self.timed_seconds if self.timed_seconds else 0.0

    @property
    def tokens_per_second(self) -> float:
        """The real tokens per second of training; 0 before anything was timed."""
        return self.timed_tokens / self.timed_seconds if self.timed_seconds else 0.0

    @property
    def train_seconds(self) -> float:
        """The seconds of all steps so far, if the untimed ones were as fast as the others."""
        return self.step / self.steps_per_second if self.timed_steps else 0.0

    def is_exhausted(self, patience: int | None) -> bool:
        """Tell whether the last `patience` validations were no better than the best before them."""
        since_best = [step for step in self.curve_steps if step > self.best_step]
        return patience is not None and len(since_best) >= patience


@dataclass(frozen=True)
class Host:
    """Where a run runs: its devices, and where its messages go."""

    devices: Devices
    progress: Progress = SILENT
    tensorboard: bool = False


class Run:
    """A recipe's model on its way from step 0 to the last."""

    def __init__(  # noqa: PLR0913 - all that makes a run
        self,
        host: Host,
        recipe: Recipe,
        task: Task,
        folder: RunFolder,
        data: Dataset,
        *,
        start: Start | None = None,
    ) -> None:
        self.devices, self.progress = host.devices, host.progress
        self.recipe, self.folder, self.data, self.start = recipe, folder, data, start
        self.signature = signature = signature_of(recipe, task)
        self.learner = build_learner(recipe, signature, self.devices)
        track = self.learner.track
        self.metric = track.metric
        self.valid = self._part(track.examples(data.split("valid"), signature))
        self.batches = track.training_batches(
            data.split("train"), signature, recipe.batch_size, recipe.seed
        )
        # of how many checkpoints the best parameters are the mean, if they are one
        self.num_averaged = 0
        self.best: Best | None = None
        self.state = self._resume()
        # it stays on the device until it is read, so that no step waits for it
        self.tally = Tally.read(self.state.tally, self.devices.device)
        self.logs: list[Log | TensorBoardLog] = []
        if self.devices.is_global_zero:
            self.logs.append(Log(folder.log, self.state.step))
            if host.tensorboard:
                self.logs.append(TensorBoardLog(folder.tensorboard, self.state.step))

    def fit(self, stop: StopRequest, until: int | None = None) -> Status:
        """Train from where the run stands to its last step, or to the step `until` and save."""
        recipe, state = self.recipe, self.state
        last = recipe.steps if until is None else until
        verb = "pretraining" if recipe.masking else "training"
        name = f"{verb} {recipe.task.name} {recipe.model.mixer}"
        batches = one_ahead(self.batches.__getitem__, state.step, last)
        untimed = state.step + UNTIMED_STEPS
        if recipe.extension and not state.curve_steps and not self._validate():
            return "diverged"  # what was copied is the first that is scored
        with self.progress.bar(name, recipe.steps, done=state.step) as bar:
            for batch in batches:
                if state.is_exhausted(recipe.patience):
                    break
                self._timed_step(batch, is_timed=state.step >= untimed)
                if state.step == 1:
                    loss = self._sum(self.tally).mean_loss
                    check_first_step(self.learner, loss, batch, self.signature)
                if state.step % recipe.log_every == 0 or state.step == recipe.steps:
                    note = self._write_log()
                    if note is None:
                        return "diverged"
                    bar.advance(0, note)
                bar.advance()
                is_due = state.step % recipe.evaluate_every == 0 or state.step == recipe.steps
                if is_due and not self._validate():
                    return "diverged"
                is_asked = self._is_asked(stop)
                if state.step % recipe.checkpoint_every == 0 or is_asked:
                    self._save()
                if is_asked and state.step < last:
                    raise Interrupted(
                        f"stopped and saved at step {state.step} of {recipe.steps} "
                        f"({self.folder.path}); the same command goes on from there"
                    )
        if until is not None:
            self._save()
        elif recipe.average_checkpoints > 1:
            self._try_average()
        return "finished"

    def _part(self, whole: Split) -> Split:
        """Take what the recipe validates on, and say so if that is not all there is."""
        taken = sample(whole, self.recipe.validate_on)
        if len(taken) < len(whole):
            self.progress.say(f"validating on {len(taken):,} of {len(whole):,} examples")
        return taken

    def _is_asked(self, stop: StopRequest) -> bool:
        """Tell whether any process was asked to stop, so that all stop together."""
        if self.devices.world_size == 1:
            return stop.asked
        asked = torch.tensor(float(stop.asked), device=self.devices.device)
        added = self.devices.all_reduce(asked, reduce_op="sum")
        return isinstance(added, Tensor) and bool(added > 0)

    def _timed_step(self, batch: Batch, is_timed: bool) -> None:
        state, start = self.state, time.perf_counter()
        self.tally += take_step(self.learner, batch, state.step)
        if self.devices.device.type == "cuda":
            torch.cuda.synchronize()
        state.step += 1
        if is_timed:
            state.timed_seconds += time.perf_counter() - start
            state.timed_steps += 1
            state.timed_tokens += self.learner.track.num_tokens(batch)

    def _write_log(self) -> str | None:
        """Log what happened since the last line; None if the loss is no longer finite."""
        state, metric = self.state, self.metric
        tally, self.tally = self._sum(self.tally), Tally.zero(self.devices.device)
        loss, score = tally.mean_loss, tally.mean_score
        is_scored = self.learner.track.is_scored_in_training
        self._tell(
            loss=loss if math.isfinite(loss) else None,
            rate=self.learner.optimiser.param_groups[0]["lr"],
            steps_per_second=round(state.steps_per_second, 3),
            tokens_per_second=round(state.tokens_per_second),
            **{metric.name: score if is_scored and math.isfinite(score) else None},
        )
        if not math.isfinite(loss):
            return None
        state.losses.append(loss)
        state.scores.append(score if is_scored and math.isfinite(score) else None)
        shown = f" {metric.name} {metric.write_with_unit(score)}" if is_scored else ""
        return f"loss {loss:.3f}{shown} {state.tokens_per_second:,.0f} tokens/s"

    def _validate(self) -> bool:
        """Score the validation split and keep the parameters if they are the best so far.

        Return False if the loss is no longer finite.
        """
        state, metric, learner = self.state, self.metric, self.learner
        found = learner.track.evaluate(
            learner.wrapped, self.valid, self.recipe.batch_size, self.devices.device
        )
        score = split_score(found)
        if score is None:
            return False
        self._tell(**{f"{VALID}{metric.name}": score.value, f"{VALID}loss": score.loss})
        state.curve_steps.append(state.step)
        state.curve_seconds.append(round(state.train_seconds, 3))
        state.curve_values.append(score.value)
        self._keep_if_best(score)
        return True

    def _try_average(self) -> None:
        """Validate the mean of the last checkpoints, and keep it if it is the best so far."""
        self.devices.barrier()
        learner, wanted = self.learner, self.recipe.average_checkpoints
        tensors, number = checkpoint.average(self.folder.checkpoints, wanted)
        if number < 2:
            return
        learner.model.load_state_dict(tensors)
        found = learner.track.evaluate(
            learner.wrapped, self.valid, self.recipe.batch_size, self.devices.device
        )
        score = split_score(found)
        if score is not None and self._keep_if_best(score):
            self.num_averaged = number

    def _keep_if_best(self, score: SplitScore) -> bool:
        """Keep the parameters as the best if their score is; tell whether they were kept."""
        state = self.state
        if state.best is not None and not self.metric.is_better(score.value, state.best.value):
            return False
        state.best, state.best_step = score, state.step
        self._keep_best()
        return True

    def _keep_best(self) -> None:
        """Keep a copy of the parameters, and write it."""
        state, model = self.state, self.learner.model
        copies = {key: value.detach().cpu().clone() for key, value in model.state_dict().items()}
        origin = BestState(run=state.run, fingerprint=state.fingerprint, step=state.step)
        self.best = Best(origin, copies)
        if self.devices.is_global_zero:
            self.best.write(self.folder.best)
        self.devices.barrier()

    def _sum(self, tally: Tally) -> Tally:
        """Add up the tallies of all processes."""
        # a copy, because torch adds in place
        added = self.devices.all_reduce(tally.sums.clone(), reduce_op="sum")
        return Tally(added) if isinstance(added, Tensor) else tally

    def _tell(self, **values: Value) -> None:
        for log in self.logs:
            log.write(self.state.step, **values)

    def _save(self) -> None:
        state = self.state.model_copy(update={"tally": self._sum(self.tally).numbers})
        if not self.devices.is_global_zero:
            return
        model, optimiser = self.learner.model, self.learner.optimiser
        tensors = {f"model/{key}": value for key, value in model.state_dict().items()}
        tensors |= {f"optimiser/{key}": value for key, value in state_tensors(optimiser).items()}
        best = self.best.tensors if self.best else {}
        tensors |= {f"{PREFIX}{key}": value for key, value in best.items()}
        moment = Checkpoint(state.step, tensors, state.model_dump(mode="json"))
        checkpoint.save(self.folder.checkpoints, moment, self.recipe.average_checkpoints)

    def _resume(self) -> Progressed:
        """Go on from the newest intact checkpoint, or from the start."""
        found = checkpoint.latest(self.folder.checkpoints, self.progress, self._load)
        if found is None:
            if self.start is not None:
                self.start.load(self.learner.model)
            return Progressed(run=self.recipe.id, fingerprint=self.data.fingerprint)
        check_data(found.fingerprint, self.data, self.folder)
        self.progress.say(f"resuming {self.recipe.id} from step {found.step}")
        if self.devices.is_global_zero:
            self._recover_best()
        # the first process keeps the sums of all
        nothing = {"tally": Tally.zero().numbers}
        return found if self.devices.is_global_zero else found.model_copy(update=nothing)

    def _load(self, found: Checkpoint) -> Progressed:
        """Take over a checkpoint; raise ValueError, and change no parameter, if it does not fit."""
        state = Progressed.model_validate(found.state)
        if (state.run, state.step) != (self.recipe.id, found.step):
            raise ValueError(f"it is of step {state.step} of run {state.run}")
        tensors: dict[str, dict[str, Tensor]] = {"model": {}, "optimiser": {}, "best": {}}
        for key, value in found.tensors.items():
            kind, _, name = key.partition("/")
            tensors.setdefault(kind, {})[name] = value
        model = self.learner.model
        check_fit(model.state_dict(), tensors["model"])
        best = Best.of(found) if state.best else None
        if best:
            check_fit(model.state_dict(), best.tensors)
        load_state_tensors(self.learner.optimiser, tensors["optimiser"])
        model.load_state_dict(tensors["model"])
        self.best = best
        return state

    def _recover_best(self) -> None:
        """Write the best parameters again if their file is damaged, or of a later step."""
        if self.best is None:
            return
        try:
            is_there = Best.read(self.folder.best).state == self.best.state
        except (OSError, ValueError) as error:
            self.progress.say(f"{self.folder.best} is damaged ({error}); written again")
            is_there = False
        if not is_there:
            self.best.write(self.folder.best)


def split_score(found: Evaluation) -> SplitScore | None:
    """Turn the evaluation of a split into a score for the record; None if it is no number."""
    *_, weight, examples = found.tally.numbers
    if not all(map(math.isfinite, (found.value, found.error, found.tally.mean_loss))):
        return None
    return SplitScore(
        value=found.value,
        error=found.error,
        loss=found.tally.mean_loss,
        weight=weight,
        examples=int(examples),
    )

"""One run under way: its model, optimiser and batches, and how it steps, saves and resumes.

Everything random is a function of (seed, purpose, step) and everything else is in the checkpoint,
so a run that was killed and started again ends with the same bits as one that was not (on a CPU,
with the same number of threads).
"""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from pydantic import BaseModel
from torch import Tensor

from longarena.data.batches import Batch, TrainingBatches, one_ahead
from longarena.data.ragged import Store
from longarena.model.build import build_classifier
from longarena.options import Value
from longarena.progress import SILENT, Progress
from longarena.recipes.recipe import Recipe, build_task
from longarena.recipes.schedule import rate
from longarena.seeding import seeded
from longarena.store.record import SplitScore, Status
from longarena.training import checkpoint
from longarena.training.checkpoint import Checkpoint
from longarena.training.evaluate import evaluate
from longarena.training.folder import Log, RunFolder
from longarena.training.optimiser import build_optimiser, load_state_tensors, state_tensors
from longarena.training.stop import Interrupted, StopRequest
from longarena.training.tensorboard import TensorBoardLog

if TYPE_CHECKING:
    from lightning_fabric import Fabric

# the first steps of a process are slower than the rest and are not timed
UNTIMED_STEPS = 3
NOTHING = [0.0, 0.0, 0.0]


class Progressed(BaseModel):
    """What a run has come to, apart from its tensors."""

    step: int = 0
    # loss, right answers and examples since the last line of the log
    totals: list[float] = NOTHING
    timed_steps: int = 0
    timed_seconds: float = 0.0
    timed_tokens: int = 0
    best_step: int = 0
    best: SplitScore | None = None
    curve_steps: list[int] = []
    curve_accuracy: list[float] = []


@dataclass(frozen=True)
class Host:
    """What a run is given to run in: its devices, and where it speaks."""

    fabric: "Fabric"
    progress: Progress = SILENT
    tensorboard: bool = False


class Run:
    """A recipe's model on its way from step 0 to the last."""

    def __init__(self, host: Host, recipe: Recipe, folder: RunFolder, data: Store) -> None:
        self.fabric, self.progress = host.fabric, host.progress
        self.recipe, self.folder = recipe, folder
        self.classifier = build_classifier(recipe.model, build_task(recipe).card, recipe.seed)
        if recipe.compile:
            # batches differ in length, and a graph for each length would be compiled for ever
            self.classifier.compile(dynamic=True)
        optimiser = build_optimiser(self.classifier, recipe.optimiser)
        self.model, self.optimiser = self.fabric.setup(self.classifier, optimiser)
        self.valid = data.split("valid")
        self.batches = TrainingBatches(data.split("train"), recipe.batch_size, recipe.seed)
        self.state = self._resume()
        self.logs: list[Log | TensorBoardLog] = []
        if self.fabric.is_global_zero:
            self.logs.append(Log(folder.log, self.state.step))
            if host.tensorboard:
                self.logs.append(TensorBoardLog(folder.tensorboard, self.state.step))

    def fit(self, stop: StopRequest) -> Status:
        """Train from where the run stands to its last step."""
        recipe, state = self.recipe, self.state
        name = f"{recipe.task.name} {recipe.model.mixer}"
        batches = one_ahead(self.batches.__getitem__, state.step, recipe.steps)
        untimed = state.step + UNTIMED_STEPS
        with self.progress.bar(f"training {name}", recipe.steps, done=state.step) as bar:
            for batch in batches:
                if self._is_exhausted():
                    break
                self._timed_step(batch, is_timed=state.step >= untimed)
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
                if is_asked and state.step < recipe.steps:
                    raise Interrupted(
                        f"stopped and saved at step {state.step} of {recipe.steps} "
                        f"({self.folder.path}); the same command goes on from there"
                    )
        return "finished"

    def _is_exhausted(self) -> bool:
        """Tell whether so many validations as the recipe allows have brought nothing better."""
        patience, state = self.recipe.patience, self.state
        since_best = [step for step in state.curve_steps if step > state.best_step]
        return patience is not None and len(since_best) >= patience

    def _is_asked(self, stop: StopRequest) -> bool:
        """Stop together: one process that was asked is enough."""
        if self.fabric.world_size == 1:
            return stop.asked
        return self._sum([float(stop.asked)])[0] > 0

    def _timed_step(self, batch: Batch, is_timed: bool) -> None:
        start = time.perf_counter()
        self._step(batch.part(self.fabric.global_rank, self.fabric.world_size), len(batch.labels))
        if self.fabric.device.type == "cuda":
            torch.cuda.synchronize()
        if is_timed:
            self.state.timed_seconds += time.perf_counter() - start
            self.state.timed_steps += 1
            self.state.timed_tokens += int((batch.ids != 0).sum())

    def _step(self, batch: Batch, whole: int) -> None:
        """Take one optimiser step on this process's part of a batch of `whole` examples."""
        recipe, step = self.recipe, self.state.step
        for group in self.optimiser.param_groups:
            group["lr"] = rate(recipe.schedule, recipe.optimiser.rate, step, recipe.steps)
        self.classifier.begin_step(step)
        for which in range(recipe.accumulate):
            is_last = which == recipe.accumulate - 1
            with (
                seeded(recipe.seed, "dropout", step, which, self.fabric.global_rank),
                self.fabric.no_backward_sync(self.model, enabled=not is_last),
            ):
                self._accumulate(batch.part(which, recipe.accumulate), whole)
        if recipe.optimiser.clip is not None:
            self.fabric.clip_gradients(self.model, self.optimiser, max_norm=recipe.optimiser.clip)
        self.optimiser.step()
        self.optimiser.zero_grad()
        self.classifier.end_step()
        self.state.step += 1

    def _accumulate(self, part: Batch, whole: int) -> None:
        """Add the gradient of a part, and count its loss and right answers."""
        part = part.to(self.fabric.device)
        logits = self.model(part.ids)
        loss_sum = F.cross_entropy(
            logits, part.labels, reduction="sum", label_smoothing=self.recipe.label_smoothing
        )
        extra = self.classifier.extra_loss()
        if extra is not None:
            loss_sum = loss_sum + extra * len(part.labels)
        # the processes average their gradients, so each makes its own as large as all together
        self.fabric.backward(loss_sum * (self.fabric.world_size / whole))
        # what is written down is never smoothed, so that it can be compared
        told = float(F.cross_entropy(logits.detach(), part.labels, reduction="sum"))
        correct = int((logits.argmax(dim=1) == part.labels).sum())
        found = (told, correct, len(part.labels))
        self.state.totals = [a + b for a, b in zip(self.state.totals, found, strict=True)]

    def _write_log(self) -> str | None:
        """Write what happened since the last line; None if the loss is no longer a number."""
        state = self.state
        loss_sum, correct, count = self._sum(state.totals)
        loss, accuracy = loss_sum / count, correct / count
        steps_per_second = state.timed_steps / state.timed_seconds if state.timed_seconds else 0.0
        tokens_per_second = state.timed_tokens / state.timed_seconds if state.timed_seconds else 0.0
        self._tell(
            loss=loss if math.isfinite(loss) else None,
            accuracy=accuracy,
            rate=self.optimiser.param_groups[0]["lr"],
            steps_per_second=round(steps_per_second, 3),
            tokens_per_second=round(tokens_per_second),
        )
        state.totals = NOTHING
        if not math.isfinite(loss):
            return None
        return f"loss {loss:.3f} accuracy {accuracy:.1%} {tokens_per_second:,.0f} tokens/s"

    def _validate(self) -> bool:
        """Score the validation split and keep the parameters if they are the best so far.

        False if the loss is no longer a number.
        """
        state = self.state
        found = evaluate(self.model, self.valid, self.recipe.batch_size, self.fabric.device)
        score = found.score
        if not math.isfinite(score.loss):
            return False
        self._tell(valid_accuracy=score.accuracy, valid_loss=score.loss)
        state.curve_steps.append(state.step)
        state.curve_accuracy.append(score.accuracy)
        if state.best is None or score.accuracy > state.best.accuracy:
            state.best, state.best_step = score, state.step
            if self.fabric.is_global_zero:
                checkpoint.save_tensors(self.folder.best, self.classifier.state_dict())
            self.fabric.barrier()
        return True

    def _sum(self, numbers: Sequence[float]) -> list[float]:
        """Add up numbers over all processes."""
        own = torch.tensor(numbers, dtype=torch.float64, device=self.fabric.device)
        added = self.fabric.all_reduce(own, reduce_op="sum")
        return added.tolist() if isinstance(added, Tensor) else list(numbers)

    def _tell(self, **values: Value) -> None:
        for log in self.logs:
            log.write(self.state.step, **values)

    def _save(self) -> None:
        state = self.state.model_copy(update={"totals": self._sum(self.state.totals)})
        if not self.fabric.is_global_zero:
            return
        tensors = {f"model/{key}": value for key, value in self.classifier.state_dict().items()}
        state_of = state_tensors(self.optimiser)
        tensors |= {f"optimiser/{key}": value for key, value in state_of.items()}
        moment = Checkpoint(state.step, tensors, state.model_dump(mode="json"))
        checkpoint.save(self.folder.checkpoints, moment)

    def _resume(self) -> Progressed:
        """Go on from the newest checkpoint that verifies, or from the start."""
        found = checkpoint.latest(self.folder.checkpoints, self.progress)
        if found is None:
            return Progressed()
        tensors: dict[str, dict[str, Tensor]] = {"model": {}, "optimiser": {}}
        for key, value in found.tensors.items():
            kind, _, name = key.partition("/")
            tensors[kind][name] = value
        self.classifier.load_state_dict(tensors["model"])
        load_state_tensors(self.optimiser, tensors["optimiser"])
        self.progress.say(f"resuming {self.recipe.id} from step {found.step}")
        state = Progressed.model_validate(found.state)
        # the first process goes on counting for all
        return state if self.fabric.is_global_zero else state.model_copy(update={"totals": NOTHING})

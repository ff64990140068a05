"""One run under way: its model, optimiser and batches, and how it steps, saves and resumes.

Everything random is a function of (seed, purpose, step) and everything else is in the checkpoint,
so a run that was killed and started again ends with the same bits as one that was not (on a CPU,
with the same number of threads).
"""

import math
import time

import torch
import torch.nn.functional as F
from lightning_fabric import Fabric
from pydantic import BaseModel
from torch import Tensor

from longarena.data.batches import Batch, TrainingBatches, one_ahead
from longarena.data.ragged import Store
from longarena.model.build import build_classifier
from longarena.progress import Progress
from longarena.recipes.recipe import Recipe, build_task
from longarena.recipes.schedule import rate
from longarena.seeding import seeded
from longarena.store.record import SplitScore, Status
from longarena.training import checkpoint
from longarena.training.checkpoint import Checkpoint
from longarena.training.evaluate import evaluate
from longarena.training.folder import Log, RunFolder
from longarena.training.stop import Interrupted, StopRequest

# the first steps of a process are slower than the rest and are not timed
UNTIMED_STEPS = 3


class Progressed(BaseModel):
    """What a run has come to, apart from its tensors."""

    step: int = 0
    # loss, right answers and examples since the last line of the log
    totals: list[float] = [0.0, 0.0, 0.0]
    timed_steps: int = 0
    timed_seconds: float = 0.0
    timed_tokens: int = 0
    best_step: int = 0
    best: SplitScore | None = None
    curve_steps: list[int] = []
    curve_accuracy: list[float] = []


class Run:
    """A recipe's model on its way from step 0 to the last."""

    def __init__(self, recipe: Recipe, folder: RunFolder, data: Store, progress: Progress) -> None:
        self.recipe, self.folder, self.progress = recipe, folder, progress
        self.fabric = Fabric(devices=1, precision=recipe.precision)
        self.classifier = build_classifier(recipe.model, build_task(recipe).card, recipe.seed)
        options = recipe.optimiser
        optimiser = torch.optim.AdamW(
            self.classifier.parameters(),
            lr=options.rate,
            betas=(options.beta_1, options.beta_2),
            eps=options.epsilon,
            weight_decay=options.weight_decay,
            fused=True,
        )
        self.model, self.optimiser = self.fabric.setup(self.classifier, optimiser)
        self.valid = data.split("valid")
        self.batches = TrainingBatches(data.split("train"), recipe.batch_size, recipe.seed)
        self.state = self._resume()
        self.log = Log(folder.path / "log.jsonl", self.state.step)

    def fit(self, stop: StopRequest) -> Status:
        """Train from where the run stands to its last step."""
        recipe, state = self.recipe, self.state
        name = f"{recipe.task.name} {recipe.model.mixer}"
        batches = one_ahead(self.batches.__getitem__, state.step, recipe.steps)
        untimed = state.step + UNTIMED_STEPS
        with self.progress.bar(f"training {name}", recipe.steps, done=state.step) as bar:
            for batch in batches:
                self._timed_step(batch, is_timed=state.step >= untimed)
                if state.step % recipe.log_every == 0 or state.step == recipe.steps:
                    note = self._write_log()
                    if note is None:
                        return "diverged"
                    bar.advance(0, note)
                bar.advance()
                if state.step % recipe.evaluate_every == 0 or state.step == recipe.steps:
                    self._validate()
                if state.step % recipe.checkpoint_every == 0 or stop.asked:
                    self._save()
                if stop.asked and state.step < recipe.steps:
                    raise Interrupted(
                        f"stopped and saved at step {state.step} of {recipe.steps} "
                        f"({self.folder.path}); the same command goes on from there"
                    )
        return "finished"

    def _timed_step(self, batch: Batch, is_timed: bool) -> None:
        start = time.perf_counter()
        self._step(batch.to(self.fabric.device))
        if self.fabric.device.type == "cuda":
            torch.cuda.synchronize()
        if is_timed:
            self.state.timed_seconds += time.perf_counter() - start
            self.state.timed_steps += 1
            self.state.timed_tokens += int((batch.ids != 0).sum())

    def _step(self, batch: Batch) -> None:
        """Take one optimiser step and count its loss and right answers."""
        recipe, step = self.recipe, self.state.step
        for group in self.optimiser.param_groups:
            group["lr"] = rate(recipe.schedule, recipe.optimiser.rate, step, recipe.steps)
        self.classifier.begin_step(step)
        with seeded(recipe.seed, "dropout", step):
            logits = self.model(batch.ids)
            loss = F.cross_entropy(logits, batch.labels)
            extra = self.classifier.extra_loss()
            self.fabric.backward(loss if extra is None else loss + extra)
        if recipe.optimiser.clip is not None:
            self.fabric.clip_gradients(self.model, self.optimiser, max_norm=recipe.optimiser.clip)
        self.optimiser.step()
        self.optimiser.zero_grad()
        self.classifier.end_step()
        count = len(batch.labels)
        correct = int((logits.argmax(dim=1) == batch.labels).sum())
        found = (float(loss.detach()) * count, correct, count)
        self.state.totals = [a + b for a, b in zip(self.state.totals, found, strict=True)]
        self.state.step += 1

    def _write_log(self) -> str | None:
        """Write what happened since the last line; None if the loss is no longer a number."""
        state = self.state
        loss_sum, correct, count = state.totals
        loss, accuracy = loss_sum / count, correct / count
        steps_per_second = state.timed_steps / state.timed_seconds if state.timed_seconds else 0.0
        self.log.write(
            state.step,
            loss=loss if math.isfinite(loss) else None,
            accuracy=accuracy,
            rate=self.optimiser.param_groups[0]["lr"],
            steps_per_second=round(steps_per_second, 3),
        )
        state.totals = [0.0, 0.0, 0.0]
        return f"loss {loss:.3f} accuracy {accuracy:.1%}" if math.isfinite(loss) else None

    def _validate(self) -> None:
        """Score the validation split and keep the parameters if they are the best so far."""
        state = self.state
        score = evaluate(self.model, self.valid, self.recipe.batch_size, self.fabric.device)
        self.log.write(state.step, valid_accuracy=score.accuracy, valid_loss=score.loss)
        state.curve_steps.append(state.step)
        state.curve_accuracy.append(score.accuracy)
        if state.best is None or score.accuracy > state.best.accuracy:
            state.best, state.best_step = score, state.step
            checkpoint.save_tensors(self.folder.best, self.classifier.state_dict())

    def _save(self) -> None:
        tensors = {f"model/{key}": value for key, value in self.classifier.state_dict().items()}
        for index, slots in self.optimiser.state_dict()["state"].items():
            tensors |= {f"optimiser/{index}/{key}": value for key, value in slots.items()}
        state = self.state.model_dump(mode="json")
        checkpoint.save(self.folder.checkpoints, Checkpoint(self.state.step, tensors, state))

    def _resume(self) -> Progressed:
        """Go on from the newest checkpoint that verifies, or from the start."""
        found = checkpoint.latest(self.folder.checkpoints, self.progress)
        if found is None:
            return Progressed()
        model: dict[str, Tensor] = {}
        slots: dict[int, dict[str, Tensor]] = {}
        for key, value in found.tensors.items():
            kind, _, name = key.partition("/")
            if kind == "model":
                model[name] = value
            else:
                index, _, slot = name.partition("/")
                slots.setdefault(int(index), {})[slot] = value
        self.classifier.load_state_dict(model)
        groups = self.optimiser.state_dict()["param_groups"]
        self.optimiser.load_state_dict({"state": slots, "param_groups": groups})
        self.progress.say(f"resuming {self.recipe.id} from step {found.step}")
        return Progressed.model_validate(found.state)

"""What is measured: one training step or one prediction of a model around a mixer.

The default is the Text shape of the arena's paper: bytes in, 4 layers, width 256, 4 heads, MLP
1024. A training step is the one of `training/step.py`, so what is timed is what is trained; a
prediction is the forward pass alone.

Choice: rows are full (no padding) and random, so that a mechanism's time does not depend on luck.
Choice: no dropout: it would cost every mechanism the same and hide the difference.
Choice: 4 rows per batch, which fits 8 GB at 4,096 tokens; the paper has 32 on 16 TPU chips.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from longarena.attention import note_own
from longarena.data.batches import Batch
from longarena.model.config import ModelConfig
from longarena.model.model import Model
from longarena.options import Options, parse
from longarena.recipes.recipe import Optimiser, Recipe, TaskChoice
from longarena.recipes.schedule import Schedule
from longarena.seeding import torch_rng
from longarena.tasks.signature import Signature
from longarena.training.devices import SingleDevice
from longarena.training.step import Learner, build_learner, take_step

VOCAB_SIZE, NUM_CLASSES = 257, 2
BATCH_SIZE = 4

Step = Callable[[], object]


class Shape(Options):
    """The sizes of a model, whatever its mixer."""

    width: int
    depth: int
    num_heads: int
    mlp_width: int

    def with_mixer(self, mixer: str, options: Mapping[str, object]) -> ModelConfig:
        """Complete the shape to a model."""
        rest = {"positions": "sinusoidal", "pooling": "mean", "dropout": 0.0}
        values = self.model_dump() | rest | {"mixer": mixer, "options": dict(options)}
        model = parse(ModelConfig, values, "model")
        return model.model_copy(update={"own": note_own(mixer)})


SHAPES = {
    "text": Shape(width=256, depth=4, num_heads=4, mlp_width=1024),
    "small": Shape(width=64, depth=2, num_heads=2, mlp_width=128),
}


@dataclass
class Work:
    """A learner and one batch, ready to step."""

    learner: Learner
    batch: Batch
    steps_done: int = 0

    @property
    def model(self) -> Model:
        """The model that is measured."""
        return self.learner.model

    def train(self) -> None:
        """Take one training step."""
        self.model.train()
        take_step(self.learner, self.batch, self.steps_done)
        self.steps_done += 1

    def loss(self) -> Tensor:
        """Compute the loss of the batch, including what the mixers add to it."""
        loss = self.learner.track.judge(self.model, self.batch).objective
        extra = self.model.extra_loss()
        return loss if extra is None else loss + extra

    @torch.no_grad()
    def predict(self) -> None:
        """Make one prediction."""
        self.model.eval()
        self.model(self.batch.ids)

    def standing_tensors(self, training: bool) -> list[Tensor]:
        """List the tensors that exist before a step: model, batch and optimiser state."""
        state = [t for slot in self.learner.optimiser.state.values() for t in slot.values()]
        model = [*self.model.parameters(), *self.model.buffers()]
        tensors = [*model, self.batch.ids, self.batch.labels]
        return tensors + (state if training else [])


def prepare(model: ModelConfig, signature: Signature, batch_size: int) -> Work:
    """Build a model for a task, and a batch of random examples of its full length."""
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    rng = torch_rng(0, "measure")
    size = (batch_size, signature.num_sequences, signature.max_length)
    ids = torch.randint(1, signature.vocab_size, size, generator=rng)
    labels = torch.randint(signature.num_classes or 1, (batch_size,), generator=rng)
    learner = build_learner(_recipe(model, batch_size), signature, SingleDevice(device))
    return Work(learner, Batch(ids, labels).to(device))


def _recipe(model: ModelConfig, batch_size: int) -> Recipe:
    """Make a plain recipe for a model that is only measured; its rate never changes."""
    return Recipe(
        preset="measure",
        task=TaskChoice(name="bytes", version=1),
        model=model,
        optimiser=Optimiser(rate=1e-3),
        schedule=Schedule(kind="constant", warmup_steps=0),
        batch_size=batch_size,
        steps=1,
        evaluate_every=1,
        log_every=1,
        checkpoint_every=1,
    )


def byte_signature(length: int) -> Signature:
    """Describe the classification of byte strings of one length, as the Text task does."""
    return Signature(vocab_size=VOCAB_SIZE, max_length=length, num_classes=NUM_CLASSES)

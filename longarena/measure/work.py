"""What is measured: one training step or one prediction of a classifier around a mixer.

The default is the Text shape of the arena's paper: bytes in, 4 layers, width 256, 4 heads, MLP
1024. A training step is forward, backward and optimiser, with everything that the loop of a run
does for the mixer; a prediction is the forward pass alone.

Choice: rows are full (no padding) and random; a mechanism's time must not hang on luck.
Choice: no dropout: it would cost every mechanism the same and hide the difference.
Choice: 4 rows a batch, which fits 8 GB at 4,096 tokens; the paper has 32 on 16 TPU chips.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.optim import AdamW

from longarena.model.build import Classifier, build_classifier
from longarena.model.config import ModelConfig
from longarena.options import Options, parse
from longarena.seeding import torch_rng
from longarena.tasks.base import TaskCard

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
        return parse(ModelConfig, values, "model")


SHAPES = {
    "text": Shape(width=256, depth=4, num_heads=4, mlp_width=1024),
    "small": Shape(width=64, depth=2, num_heads=2, mlp_width=128),
}


@dataclass
class Work:
    """A model, its optimiser and one batch, ready to step."""

    model: Classifier
    optimiser: AdamW
    ids: Tensor
    labels: Tensor
    steps_done: int = 0

    def train(self) -> None:
        """Make one training step."""
        self.model.train()
        self.model.begin_step(self.steps_done)
        loss = self.loss()
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimiser.step()
        self.optimiser.zero_grad()
        self.model.end_step()
        self.steps_done += 1

    def loss(self) -> Tensor:
        """Compute the loss of the batch, with what the mixers add to it."""
        loss = F.cross_entropy(self.model(self.ids), self.labels)
        extra = self.model.extra_loss()
        return loss if extra is None else loss + extra

    @torch.no_grad()
    def predict(self) -> None:
        """Make one prediction."""
        self.model.eval()
        self.model(self.ids)

    def standing_tensors(self, training: bool) -> list[Tensor]:
        """List what is alive before a step: the model and the batch, and the optimiser's state."""
        state = [t for slot in self.optimiser.state.values() for t in slot.values()]
        tensors = [*self.model.parameters(), *self.model.buffers(), self.ids, self.labels]
        return tensors + (state if training else [])


def prepare(model: ModelConfig, card: TaskCard, batch_size: int) -> Work:
    """Build a model for a task, and a batch of random examples as long as its longest."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    classifier = build_classifier(model, card, seed=0).to(device)
    rng = torch_rng(0, "measure")
    size = (batch_size, card.num_sequences, card.max_length)
    ids = torch.randint(1, card.vocab_size, size, generator=rng)
    labels = torch.randint(card.num_classes, (batch_size,), generator=rng)
    optimiser = AdamW(classifier.parameters(), fused=True)
    return Work(classifier, optimiser, ids.to(device), labels.to(device))


def byte_card(length: int) -> TaskCard:
    """Describe the classification of byte strings of one length, as the Text task does."""
    return TaskCard(
        name="bytes",
        version=1,
        title="Random bytes",
        question="Which of two classes?",
        num_classes=NUM_CLASSES,
        max_length=length,
        vocab_size=VOCAB_SIZE,
        sizes={},
        splits="none: the bytes are drawn at random",
        source="generated",
        licence="none",
        citation="",
    )

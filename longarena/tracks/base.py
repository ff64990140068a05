"""A track: what is predicted from the tokens, and how that is scored.

build(config, signature, seed)       the model: a backbone and the track's head
judge(model, batch)                  what training minimises, and what is scored
level(train, test)                   what an answer without a model would score
evaluate(model, split)               every example once: a tally and the answers
training_batches(split, ...)         what training sees, step by step
examples(split, signature)           what is scored one by one
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from longarena.data.batches import (
    Batch,
    Batches,
    TrainingBatches,
    evaluation_batches,
    evaluation_order,
)
from longarena.data.dataset import Split
from longarena.model.config import ModelConfig
from longarena.model.decoding import Decoding
from longarena.model.model import Model
from longarena.options import Value
from longarena.progress import SILENT, Progress
from longarena.tasks.signature import Signature
from longarena.tracks.metric import Metric
from longarena.tracks.tally import Tally


@dataclass(frozen=True)
class Judgement:
    """What a track finds in a model's answers to one batch.

    `objective` is a sum over the batch, with its gradient; `scores` and `answers` have one entry
    per example.
    """

    objective: Tensor
    tally: Tally
    scores: Tensor
    answers: Tensor


@dataclass(frozen=True)
class Level:
    """The score and the loss of the best answer without a model."""

    score: float
    loss: float


@dataclass(frozen=True)
class Whole:
    """The score of a split as a whole, where it is no mean over examples, and its error."""

    value: float
    error: float


@dataclass(frozen=True)
class Evaluation:
    """How a model did on a split; scores, answers and texts are in the order of the dataset.

    `texts` are what a model wrote, if it writes; `facts` are what else the track found on the way.
    """

    tally: Tally
    scores: NDArray[np.float32]
    answers: NDArray[np.int64]
    whole: Whole | None = None
    texts: tuple[str, ...] = ()
    facts: Mapping[str, Value] = field(default_factory=dict)

    @property
    def value(self) -> float:
        """The metric's value on the split."""
        return self.tally.mean_score if self.whole is None else self.whole.value

    @property
    def error(self) -> float:
        """The standard error of the value."""
        return self.tally.error if self.whole is None else self.whole.error


class Track(ABC):
    """One kind of question about sequences; a track has no state."""

    metric: ClassVar[Metric]
    is_causal: ClassVar[bool] = False
    # whether `judge` scores answers; where only `evaluate` can, training logs the loss alone
    is_scored_in_training: ClassVar[bool] = True

    @classmethod
    def of(cls, signature: Signature) -> "Track":
        """Make the track for a task; by default it is the same for all."""
        return cls()

    @abstractmethod
    def build(self, config: ModelConfig, signature: Signature, seed: int) -> Model:
        """Build the model; the same seed gives the same parameters everywhere."""

    @abstractmethod
    def judge(self, model: nn.Module, batch: Batch, label_smoothing: float = 0.0) -> Judgement:
        """Let a model answer a batch, and judge the answers."""

    @abstractmethod
    def level(self, train: Split, test: Split) -> Level:
        """Return the score on `test` and the loss on `train` of the best constant answer."""

    def weight(self, batch: Batch) -> int | Tensor:
        """Return what the loss of a batch is divided by; by default its number of examples."""
        return len(batch.labels)

    def training_batches(
        self, split: Split, signature: Signature, batch_size: int, seed: int
    ) -> Batches:
        """Return the batches of training; by default the examples of a split, shuffled."""
        return TrainingBatches(split, batch_size, seed)

    def examples(self, split: Split, signature: Signature) -> Split:
        """Return what is scored one by one; by default the examples of a split."""
        return split

    def with_decoding(self, decoding: Decoding) -> "Track":
        """Return the track as it tests: one that writes does so with care, not as in validation."""
        return self

    def num_tokens(self, batch: Batch) -> int:
        """Count the real tokens that a model reads in a batch."""
        return int((batch.ids != 0).sum())

    def details(self, split: Split, found: Evaluation) -> dict[str, Value]:
        """Return what else to record about an evaluation; by default nothing."""
        return {}

    @torch.inference_mode()
    def evaluate(
        self,
        model: nn.Module,
        split: Split,
        batch_size: int,
        device: torch.device,
        progress: Progress = SILENT,
    ) -> Evaluation:
        """Score a model on all examples of a split, without dropout."""
        was_training = model.training
        model.eval()
        tally, scores, answers = Tally.zero(device), [], []
        with progress.bar("evaluating", len(split)) as bar:
            for batch in evaluation_batches(split, batch_size):
                judged = self.judge(model, batch.to(device))
                tally += judged.tally
                scores.append(judged.scores.float().cpu())
                answers.append(judged.answers.cpu())
                bar.advance(len(batch.labels))
        model.train(was_training)
        back = np.argsort(evaluation_order(split))
        return Evaluation(tally, torch.cat(scores).numpy()[back], torch.cat(answers).numpy()[back])

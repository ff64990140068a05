"""Classification: one class for each example, scored by accuracy."""

import math

import numpy as np
import torch.nn.functional as F
from torch import nn

from longarena.data.batches import Batch
from longarena.data.dataset import Split
from longarena.model.backbone import Backbone
from longarena.model.config import ModelConfig
from longarena.model.heads import ClassificationHead
from longarena.model.model import Model
from longarena.options import Value
from longarena.seeding import seeded
from longarena.tasks.signature import Signature
from longarena.tracks.base import Evaluation, Judgement, Level, Track
from longarena.tracks.metric import ACCURACY
from longarena.tracks.tally import Tally


class Classification(Track):
    """The track of the Long Range Arena."""

    metric = ACCURACY

    def build(self, config: ModelConfig, signature: Signature, seed: int) -> Model:
        with seeded(seed, "model"):
            backbone = Backbone(config, signature, seed, has_cls=config.pooling == "cls")
            return Model(backbone, ClassificationHead(config, signature))

    def judge(self, model: nn.Module, batch: Batch, label_smoothing: float = 0.0) -> Judgement:
        logits, labels = model(batch.ids).float(), batch.labels
        loss = F.cross_entropy(logits, labels, reduction="sum")
        objective = loss
        if label_smoothing:
            objective = F.cross_entropy(
                logits, labels, reduction="sum", label_smoothing=label_smoothing
            )
        answers = logits.argmax(dim=1)
        scores = answers == labels
        return Judgement(objective, Tally.of(loss, scores, len(labels)), scores, answers)

    def level(self, train: Split, test: Split) -> Level:
        """Score the commonest class of `train`; the loss is the entropy of the classes there."""
        counts = np.bincount(train.labels)
        shares = counts[counts > 0] / len(train)
        entropy = -sum(share * math.log(share) for share in shares)
        return Level(float((test.labels == counts.argmax()).mean()), entropy)

    def details(self, split: Split, found: Evaluation) -> dict[str, Value]:
        """Count the examples by their class (rows) and the predicted one (columns)."""
        num_classes = int(max(split.labels.max(), found.answers.max())) + 1
        confusion = np.zeros((num_classes, num_classes), np.int64)
        np.add.at(confusion, (split.labels, found.answers), 1)
        return {"confusion": [list(map(int, row)) for row in confusion]}

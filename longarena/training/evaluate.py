"""How a model does on a split: accuracy, mean loss and confusion, every example once."""

from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from longarena.data.batches import evaluation_batches
from longarena.data.ragged import Split
from longarena.store.record import SplitScore


@dataclass(frozen=True)
class Evaluation:
    """What came of it; `confusion[i, j]` counts the examples of class i that were called j."""

    score: SplitScore
    confusion: Tensor


@torch.inference_mode()
def evaluate(model: nn.Module, split: Split, batch_size: int, device: torch.device) -> Evaluation:
    """Score a model on all examples of a split, without dropout."""
    was_training = model.training
    model.eval()
    loss_sum, found = torch.zeros((), dtype=torch.float64), []
    for batch in evaluation_batches(split, batch_size):
        batch = batch.to(device)  # noqa: PLW2901
        logits = model(batch.ids).float()
        loss_sum += F.cross_entropy(logits, batch.labels, reduction="sum").double().cpu()
        found.append(count_answers(logits, batch.labels).cpu())
    model.train(was_training)
    confusion, count = torch.stack(found).sum(dim=0), len(split)
    accuracy = int(confusion.trace()) / count
    score = SplitScore(accuracy=accuracy, loss=float(loss_sum) / count, examples=count)
    return Evaluation(score, confusion)


def count_answers(logits: Tensor, labels: Tensor) -> Tensor:
    """Count the examples by their class and the one they were given.

    >>> count_answers(torch.eye(2)[[0, 1, 1]], torch.tensor([0, 0, 1])).tolist()
    [[1, 1], [0, 1]]
    """
    num_classes = logits.shape[1]
    pairs = labels * num_classes + logits.argmax(dim=1)
    return torch.bincount(pairs, minlength=num_classes**2).view(num_classes, num_classes)


def majority_share(train: Split, test: Split) -> float:
    """Return the accuracy on `test` of always answering the commonest class of `train`."""
    commonest = np.bincount(train.labels).argmax()
    return float((test.labels == commonest).mean())

"""How a model does on a split: accuracy and mean loss over every example, once each."""

from collections.abc import Callable

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from longarena.data.batches import Batch, evaluation_batches
from longarena.data.ragged import Split
from longarena.store.record import SplitScore

ToDevice = Callable[[Batch], Batch]


@torch.inference_mode()
def evaluate(model: nn.Module, split: Split, batch_size: int, device: torch.device) -> SplitScore:
    """Score a model on all examples of a split, without dropout."""
    was_training = model.training
    model.eval()
    totals = torch.zeros(2, dtype=torch.float64)
    for batch in evaluation_batches(split, batch_size):
        batch = batch.to(device)  # noqa: PLW2901
        logits = model(batch.ids).float()
        loss = F.cross_entropy(logits, batch.labels, reduction="sum")
        correct = (logits.argmax(dim=1) == batch.labels).sum()
        totals += torch.stack([loss.double(), correct.double()]).cpu()
    model.train(was_training)
    loss_sum, correct_sum = totals.tolist()
    count = len(split)
    return SplitScore(accuracy=correct_sum / count, loss=loss_sum / count, examples=count)


def majority_share(train: Split, test: Split) -> float:
    """Return the accuracy on `test` of always answering the commonest class of `train`."""
    commonest = np.bincount(train.labels).argmax()
    return float((test.labels == commonest).mean())

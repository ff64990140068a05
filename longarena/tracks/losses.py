"""The cross entropy of answers at the positions where something is asked."""

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

IGNORED = -100


def summed_loss(
    logits: Float[Tensor, "batch asked classes"],
    wanted: Int[Tensor, "batch asked"],
    label_smoothing: float = 0.0,
) -> Tensor:
    """Add up the losses; a wanted class below 0 means that nothing is asked there."""
    return F.cross_entropy(
        logits.flatten(0, 1),
        torch.where(wanted >= 0, wanted, IGNORED).flatten(),
        reduction="sum",
        ignore_index=IGNORED,
        label_smoothing=label_smoothing,
    )

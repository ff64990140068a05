"""A model: a backbone, the head of a track, and the hooks that a training step calls."""

from collections.abc import Iterator

import torch
from einops import rearrange
from torch import Tensor, nn

from longarena.attention import Mixer
from longarena.model.backbone import Backbone
from longarena.model.mult_adds import Kinds
from longarena.shapes import SequenceIds


class Model(nn.Module):
    """Ids of one or two sequences in, the head's answer out.

    The sequences of a pair go through the backbone as separate rows of the same batch.
    """

    def __init__(self, backbone: Backbone, head: nn.Module) -> None:
        super().__init__()
        self.backbone, self.head = backbone, head

    def forward(self, ids: SequenceIds) -> Tensor:
        tokens, mask = self.backbone(rearrange(ids, "b s n -> (b s) n"))
        output: Tensor = self.head(tokens, mask)
        return output

    def mixers(self) -> Iterator[Mixer]:
        """Yield every mixer, lowest first."""
        return self.backbone.encoder.mixers()

    def begin_step(self, step: int) -> None:
        """Tell every mixer that a training step begins."""
        for mixer in self.mixers():
            mixer.begin_step(step)

    def end_step(self) -> None:
        """Tell every mixer that the optimiser has stepped."""
        for mixer in self.mixers():
            mixer.end_step()

    def extra_loss(self) -> Tensor | None:
        """Add up the losses that the mixers have of their own; None if none has any."""
        losses = [loss for mixer in self.mixers() if (loss := mixer.extra_loss()) is not None]
        return torch.stack(losses).sum() if losses else None

    def example_cost(self) -> Kinds | None:
        """Count the Mult-Adds of an example, where one is agreed on; by default none is."""
        return None

    def state_bytes(self, length: int) -> int:
        """Return what a causal model carries to the next token after so many of one row."""
        prepended = self.backbone.num_prepended
        mixers = self.backbone.encoder.mixers()
        return sum(mixer.state_bytes(prepended + length) for mixer in mixers)


def num_parameters(model: nn.Module) -> int:
    """Count the numbers of a model that are trained."""
    return sum(p.numel() for p in model.parameters() if p.requires_grad)

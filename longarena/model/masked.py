"""A model that fills in hidden tokens: the backbone reads the others, a head answers at each place.

Choice: one learned vector stands in place of every hidden token, and its position is added as
        usual. With ids that is the mask token of the authors' code; where tokens are read as
        numbers, that code puts 0 and adds a second input, 1 at hidden tokens, which comes to the
        bias plus one learned vector. It is not part of the backbone, so it does not go on to the
        run that begins with the backbone.
"""

import torch
from einops import rearrange
from jaxtyping import Float
from torch import Tensor, nn

from longarena.data.masking import HIDDEN, num_hidden
from longarena.model.backbone import Backbone
from longarena.model.config import ModelConfig
from longarena.model.model import Model
from longarena.model.places import at_places, first_places
from longarena.shapes import SequenceIds
from longarena.tasks.signature import Signature


class MaskedModel(Model):
    """Answers at the hidden tokens of each sequence, in their order."""

    def __init__(self, backbone: Backbone, head: nn.Module, width: int, share: float) -> None:
        super().__init__(backbone, head)
        self.mask_vector = nn.Parameter(torch.randn(width))
        self.share = share

    def forward(self, ids: SequenceIds) -> Float[Tensor, "rows hidden outputs"]:
        rows = rearrange(ids, "b s n -> (b s) n")
        tokens, _ = self.backbone(rows, self.mask_vector)
        places = first_places(rows >= HIDDEN, num_hidden(rows.shape[1], self.share))
        # a head of the run that follows may have asked for tokens before the sequence
        answers: Tensor = self.head(at_places(tokens[:, -rows.shape[1] :], places))
        return answers


def build_masked(config: ModelConfig, signature: Signature, seed: int, outputs: int) -> MaskedModel:
    """Build the backbone of a classifier under a head that gives each hidden token `outputs`."""
    backbone = Backbone(config, signature, seed, has_cls=config.pooling == "cls")
    head = nn.Linear(config.width, outputs)
    return MaskedModel(backbone, head, config.width, signature.masked_share)

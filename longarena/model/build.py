"""The classifier: embedding, encoder, pooling, head. A pair of sequences shares one encoder."""

import torch
import torch.nn.functional as F
from einops import rearrange
from torch import Tensor, nn

from longarena.data.batches import round_up
from longarena.model.config import ModelConfig
from longarena.model.embedding import Embedding
from longarena.model.encoder import Encoder
from longarena.model.heads import POOLINGS, Head
from longarena.seeding import seeded
from longarena.shapes import Ids, Logits, Pooled, SequenceIds
from longarena.tasks.base import TaskCard


class Classifier(nn.Module):
    """Ids of one or two sequences in, logits out; 0 is padding and is never seen."""

    def __init__(self, config: ModelConfig, card: TaskCard, seed: int) -> None:
        super().__init__()
        # a CLS token is one more word, put before every sequence
        self.cls_id = card.vocab_size
        self.num_cls = 1 if config.pooling == "cls" else 0
        vocab_size = card.vocab_size + self.num_cls
        # batches are padded to whole buckets, also the longest
        max_length = round_up(card.max_length) + self.num_cls
        self.embedding = Embedding(vocab_size, config.width, max_length, config.positions)
        self.dropout = nn.Dropout(config.dropout)
        self.encoder = Encoder(config, max_length, seed)
        self.pool = POOLINGS[config.pooling]
        self.head = Head(config.width, config.mlp_width, card.num_classes, card.num_sequences)

    def forward(self, ids: SequenceIds) -> Logits:
        pooled = self.encode(rearrange(ids, "b s n -> (b s) n"))
        logits: Tensor = self.head(rearrange(pooled, "(b s) d -> b s d", s=ids.shape[1]))
        return logits

    def encode(self, ids: Ids) -> Pooled:
        """Turn each sequence into one vector."""
        ids = F.pad(ids, (self.num_cls, 0), value=self.cls_id)
        x, mask = self.embedding(ids), ids != 0
        return self.pool(self.encoder(self.dropout(x), mask), mask)

    def begin_step(self, step: int) -> None:
        """Tell every mixer that a training step begins."""
        for mixer in self.encoder.mixers():
            mixer.begin_step(step)

    def end_step(self) -> None:
        """Tell every mixer that the optimiser has stepped."""
        for mixer in self.encoder.mixers():
            mixer.end_step()

    def extra_loss(self) -> Tensor | None:
        """Add up the losses that mixers have of their own."""
        losses = [
            loss for mixer in self.encoder.mixers() if (loss := mixer.extra_loss()) is not None
        ]
        return torch.stack(losses).sum() if losses else None


def build_classifier(config: ModelConfig, card: TaskCard, seed: int) -> Classifier:
    """Build the model of a recipe; the same seed gives the same parameters everywhere."""
    with seeded(seed, "model"):
        return Classifier(config, card, seed)


def num_parameters(model: nn.Module) -> int:
    """Count the trained numbers of a model."""
    return sum(p.numel() for p in model.parameters() if p.requires_grad)

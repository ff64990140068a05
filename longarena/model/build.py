"""The classifier: embedding, encoder, pooling, head. A pair of sequences shares one encoder."""

import torch
from einops import rearrange
from torch import Tensor, nn

from longarena.attention import Mixer
from longarena.data.batches import round_up
from longarena.model.config import ModelConfig
from longarena.model.embedding import Embedding
from longarena.model.encoder import Encoder, build_mixers
from longarena.model.heads import POOLINGS, Head
from longarena.seeding import seeded
from longarena.shapes import Ids, Logits, Pooled, SequenceIds
from longarena.tasks.base import TaskCard


class Classifier(nn.Module):
    """Ids of one or two sequences in, logits out; 0 is padding and is never seen."""

    def __init__(self, config: ModelConfig, card: TaskCard, seed: int) -> None:
        super().__init__()
        # batches are padded to whole buckets, also the longest
        length = round_up(card.max_length)
        mixers, self.num_prepended = _mixers_and_prepended(config, length, seed)
        # every token that is put before a sequence is one more word
        self.first_prepended = card.vocab_size
        vocab_size = card.vocab_size + self.num_prepended
        max_length = length + self.num_prepended
        positions = None if mixers[0].has_own_positions else config.positions
        self.embedding = Embedding(vocab_size, config.width, max_length, positions)
        self.dropout = nn.Dropout(config.dropout)
        self.encoder = Encoder(config, mixers)
        self.pool = POOLINGS[config.pooling](config)
        self.num_left_out = 0 if config.pooling == "cls" else self.num_prepended
        self.head = Head(config.width, config.mlp_width, card.num_classes, card.num_sequences)

    def forward(self, ids: SequenceIds) -> Logits:
        pooled = self.encode(rearrange(ids, "b s n -> (b s) n"))
        logits: Tensor = self.head(rearrange(pooled, "(b s) d -> b s d", s=ids.shape[1]))
        return logits

    def encode(self, ids: Ids) -> Pooled:
        """Turn each sequence into one vector."""
        words = self.first_prepended + torch.arange(self.num_prepended, device=ids.device)
        ids = torch.cat([words.to(ids.dtype).expand(len(ids), -1), ids], dim=1)
        x, mask = self.embedding(ids), ids != 0
        y = self.encoder(self.dropout(x), mask)
        return self.pool(y[:, self.num_left_out :], mask[:, self.num_left_out :])

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


def _mixers_and_prepended(config: ModelConfig, length: int, seed: int) -> tuple[list[Mixer], int]:
    """Build the mixers, and count the tokens to put before a sequence: CLS, or theirs to see all.

    Mixers are built for the length with these tokens, yet only a mixer can tell how many it wants.
    """
    num_cls = 1 if config.pooling == "cls" else 0
    mixers = build_mixers(config, length + num_cls, seed)
    wanted = max(num_cls, *(mixer.num_global_tokens for mixer in mixers))
    if wanted > num_cls:
        mixers = build_mixers(config, length + wanted, seed)
    return mixers, wanted


def build_classifier(config: ModelConfig, card: TaskCard, seed: int) -> Classifier:
    """Build the model of a recipe; the same seed gives the same parameters everywhere."""
    with seeded(seed, "model"):
        return Classifier(config, card, seed)


def num_parameters(model: nn.Module) -> int:
    """Count the trained numbers of a model."""
    return sum(p.numel() for p in model.parameters() if p.requires_grad)

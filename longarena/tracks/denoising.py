"""Denoising: some tokens of the input are hidden, and a model fills them in.

    TokenDenoising   names each hidden token; scored by the share that is right
    ValueDenoising   says what number each hidden token is; scored by how far off that is

No label is read. It is what a model does before it is asked the task's own question, on the same
training data (self-pretraining).

Paper:  Amos, Berant & Gupta (2024), https://arxiv.org/abs/2310.02980: a masked sequence for models
        that look both ways; code: IdoAmos/not-from-scratch
Choice: the loss of numbers is their mean absolute error, as in the authors' code for grey pixels
        (`masked_mae`). Numbers are those that the model reads, from -1 to 1; the score is the error
        as a share of that range, so that it can be compared between tasks.
Choice: 1,000 examples are scored at most. Each asks for tens to hundreds of tokens, and the score
        only says which parameters to go on with, and whether anything was learnt.
Choice: the level is that of the commonest token, or of the median, of up to 10,000 training
        examples.
Choice: models that look back only would be asked for the next token (the paper's other objective);
        that is left out, since no track that can be pretrained here has them.
"""

import math
from abc import abstractmethod

import numpy as np
from einops import rearrange, reduce
from jaxtyping import Int
from numpy.typing import NDArray
from torch import Tensor, nn

from longarena.data.batches import Batch, Batches, TrainingBatches
from longarena.data.dataset import Split
from longarena.data.masking import HIDDEN, MaskedBatches, masked_examples
from longarena.data.sample import sample
from longarena.model.config import ModelConfig
from longarena.model.embedding import values_of
from longarena.model.masked import build_masked
from longarena.model.model import Model
from longarena.model.places import first_places
from longarena.options import Value
from longarena.seeding import seeded
from longarena.shapes import SequenceIds
from longarena.tasks.signature import Signature
from longarena.tracks.base import Evaluation, Judgement, Level, Track
from longarena.tracks.losses import summed_loss
from longarena.tracks.metric import Metric
from longarena.tracks.tally import Tally

MOST_SCORED, MOST_COUNTED = 1000, 10_000
RANGE = 2.0  # of the numbers that tokens stand for

Shares = NDArray[np.float64]


class Denoising(Track):
    """What both kinds share: which tokens are hidden, and how many."""

    def __init__(self, signature: Signature) -> None:
        if not 0 < signature.masked_share < 1:
            raise ValueError(f"masked_share {signature.masked_share} is not a share of the tokens")
        self.vocab_size, self.share = signature.vocab_size, signature.masked_share

    @classmethod
    def of(cls, signature: Signature) -> Track:
        return cls(signature)

    @property
    @abstractmethod
    def num_outputs(self) -> int:
        """How many numbers the head gives for a hidden token."""

    def build(self, config: ModelConfig, signature: Signature, seed: int) -> Model:
        with seeded(seed, "model"):
            return build_masked(config, signature, seed, self.num_outputs)

    def training_batches(
        self, split: Split, signature: Signature, batch_size: int, seed: int
    ) -> Batches:
        return MaskedBatches(TrainingBatches(split, batch_size, seed), self.share, seed)

    def examples(self, split: Split, signature: Signature) -> Split:
        return masked_examples(split, self.share, MOST_SCORED)

    def weight(self, batch: Batch) -> Tensor:
        """Count the hidden tokens of a batch."""
        return (batch.ids >= HIDDEN).sum().clamp_min(1)  # a batch of empty examples has none

    def token_shares(self, train: Split, test: Split) -> tuple[Shares, Shares]:
        """Return how often each token comes in training, and in what is scored."""
        size = self.vocab_size - 1
        return count_shares(train, size, MOST_COUNTED), count_shares(test, size, MOST_SCORED)

    def details(self, split: Split, found: Evaluation) -> dict[str, Value]:
        """State how much was hidden."""
        return {"masked_share": self.share}


class TokenDenoising(Denoising):
    """Name the hidden tokens."""

    metric = Metric(
        name="recovered", title="Hidden tokens recovered", unit="%", better="more", scale=100
    )

    @property
    def num_outputs(self) -> int:
        return self.vocab_size - 1  # padding is never hidden

    def judge(self, model: nn.Module, batch: Batch, label_smoothing: float = 0.0) -> Judgement:
        logits: Tensor = model(batch.ids).float()
        wanted = hidden_ids(batch.ids, logits.shape[1]) - 1
        loss = summed_loss(logits, wanted)
        objective = summed_loss(logits, wanted, label_smoothing) if label_smoothing else loss
        num_right = _per_example(logits.argmax(dim=2) == wanted, batch)
        return Judgement(
            objective, Tally.of(loss, num_right, self.weight(batch)), num_right, num_right
        )

    def level(self, train: Split, test: Split) -> Level:
        """Score the commonest token of `train`; the loss is the entropy of the tokens there."""
        of_train, of_test = self.token_shares(train, test)
        entropy = -sum(share * math.log(share) for share in of_train[of_train > 0])
        return Level(float(of_test[of_train.argmax()]), entropy)


class ValueDenoising(Denoising):
    """Say what numbers the hidden tokens are; labels that could be smoothed there are none."""

    metric = Metric(
        name="error",
        title="Mean error of hidden values",
        unit="% of the range",
        better="less",
        scale=100,
        decimals=2,
    )
    num_outputs = 1

    def judge(self, model: nn.Module, batch: Batch, label_smoothing: float = 0.0) -> Judgement:
        found: Tensor = model(batch.ids).float()[..., 0]
        wanted = hidden_ids(batch.ids, found.shape[1])
        off = (found - values_of(wanted, self.vocab_size)).abs() * (wanted > 0)
        errors = _per_example(off.detach() / RANGE, batch)
        tally = Tally.of(off.sum(), errors, self.weight(batch))
        return Judgement(off.sum(), tally, errors, errors.round().long())

    def level(self, train: Split, test: Split) -> Level:
        """Score the median of `train`."""
        of_train, of_test = self.token_shares(train, test)
        median = int(np.searchsorted(of_train.cumsum(), 0.5))
        steps = np.abs(np.arange(len(of_train)) - median) / (self.vocab_size - 2)
        return Level(float(of_test @ steps), RANGE * float(of_train @ steps))


def hidden_ids(ids: SequenceIds, most: int) -> Int[Tensor, "rows hidden"]:
    """Return the ids of the first `most` hidden tokens of each sequence; 0 where it has fewer.

    >>> import torch
    >>> hidden_ids(torch.tensor([[[HIDDEN + 7, 5, HIDDEN + 6, 0]]]), 3).tolist()
    [[7, 6, 0]]
    """
    rows = rearrange(ids, "b s n -> (b s) n")
    return (rows.gather(1, first_places(rows >= HIDDEN, most)) - HIDDEN).clamp_min(0)


def _per_example(scores: Tensor, batch: Batch) -> Tensor:
    """Add up what the sequences of each example scored."""
    exact = scores.double() if scores.is_floating_point() else scores.long()
    return reduce(exact, "(b s) k -> b", "sum", s=batch.ids.shape[1])


def count_shares(split: Split, num_tokens: int, most: int) -> Shares:
    """Return how often each token comes in up to `most` examples of a split."""
    shown = sample(split, most)
    counts = np.zeros(num_tokens)
    for example in range(len(shown)):
        for which in range(shown.num_sequences):
            counts += np.bincount(shown.sequence(example, which), minlength=num_tokens)
    shares: Shares = counts / max(1, counts.sum())
    return shares

"""Recall: at some positions of a sequence something is asked, and a model names a token there.

    read     4 17  9 23    9  5  4  8
    asked    .  .  .  .   23  . 17  .         (a dot: nothing is asked)

An example is a pair of sequences of one length: what is read, and what must be answered at each
position, where token 0 means that nothing is asked. Only the first goes through the backbone, which
looks back only; a linear map names one of the tokens 1 ... at each position that is asked.

Choice: loss and accuracy are means over what is asked, not over examples, as in zoology. The
        standard error is over examples, because the answers of one example hang together.
Choice: answers are computed only where something is asked. With 8,192 tokens to choose from,
        answers to everything would be most of the work.
Choice: of the answers to an example only the last is kept beside the record, so that the file stays
        small; the score tells how many were right.
"""

import math
from collections.abc import Iterator

import numpy as np
from jaxtyping import Float, Int
from torch import Tensor, nn

from longarena.data.batches import Batch
from longarena.data.dataset import DiskTokens, Integers, Split
from longarena.model.backbone import Backbone
from longarena.model.config import ModelConfig
from longarena.model.model import Model
from longarena.model.places import at_places, first_places
from longarena.seeding import seeded
from longarena.shapes import SequenceIds
from longarena.tasks.signature import Signature
from longarena.tracks.base import Judgement, Level, Track
from longarena.tracks.losses import summed_loss
from longarena.tracks.metric import ACCURACY
from longarena.tracks.tally import Tally

READ, ASKED = 0, 1  # the two sequences of an example
FIRST_ANSWER = 2  # the ids 0 and 1 are padding and "nothing is asked"
BLOCK = 1000  # examples whose answers are counted at once


class Recall(Track):
    """The track of the probes."""

    metric = ACCURACY
    is_causal = True

    def build(self, config: ModelConfig, signature: Signature, seed: int) -> Model:
        with seeded(seed, "model"):
            backbone = Backbone(config, signature, seed, causal=True)
            head = nn.Linear(config.width, signature.vocab_size - FIRST_ANSWER)
            return AskedModel(backbone, head, signature.num_asked)

    def judge(self, model: nn.Module, batch: Batch, label_smoothing: float = 0.0) -> Judgement:
        logits: Tensor = model(batch.ids).float()
        places = asked_places(batch.ids, logits.shape[1])
        wanted = batch.ids[:, ASKED].gather(1, places) - FIRST_ANSWER
        is_asked = wanted >= 0
        loss = summed_loss(logits, wanted)
        objective = summed_loss(logits, wanted, label_smoothing) if label_smoothing else loss
        answers = logits.argmax(dim=2)
        num_right = (answers == wanted).sum(dim=1)
        # the first answer stands for token 1
        last = 1 + answers.gather(1, is_asked.sum(dim=1, keepdim=True).clamp_min(1) - 1)[:, 0]
        return Judgement(objective, Tally.of(loss, num_right, is_asked.sum()), num_right, last)

    def level(self, train: Split, test: Split) -> Level:
        """Score the commonest answer of `train`; the loss is the entropy of the answers there."""
        of_train, of_test = (count_answers(split) for split in (train, test))
        shares = of_train[of_train > 0] / of_train.sum()
        entropy = -sum(share * math.log(share) for share in shares)
        return Level(float(of_test[of_train.argmax()] / of_test.sum()), entropy)

    def weight(self, batch: Batch) -> Tensor:
        """Count what is asked in a batch."""
        return (batch.ids[:, ASKED] >= FIRST_ANSWER).sum()

    def num_tokens(self, batch: Batch) -> int:
        """Count the tokens that are read."""
        return int((batch.ids[:, READ] != 0).sum())


class AskedModel(Model):
    """Answers at the asked positions of each row, the first `num_asked` of them."""

    def __init__(self, backbone: Backbone, head: nn.Module, num_asked: int | None) -> None:
        super().__init__(backbone, head)
        self.num_asked = num_asked

    def forward(self, ids: SequenceIds) -> Float[Tensor, "batch asked classes"]:
        tokens, _ = self.backbone(ids[:, READ])
        places = asked_places(ids, self.num_asked)
        found: Tensor = self.head(at_places(tokens, places))
        return found


def asked_places(ids: SequenceIds, most: int | None) -> Int[Tensor, "batch asked"]:
    """Return the first `most` positions of each row that are asked, in their order."""
    return first_places(ids[:, ASKED] >= FIRST_ANSWER, most)


def count_answers(split: Split) -> Integers:
    """Count how often each token is the answer to something."""
    counts = np.zeros(np.iinfo(split.tokens.dtype).max + 1, np.int64)
    for asked in _asked_tokens(split):
        counts += np.bincount(asked, minlength=len(counts))
    counts[0] = 0  # nothing is asked
    return counts


def _asked_tokens(split: Split) -> Iterator[DiskTokens]:
    """Yield the second sequences of some examples after the other, end to end."""
    for start in range(0, len(split), BLOCK):
        offsets = split.offsets[2 * start : 2 * (start + BLOCK) + 1]
        is_asked = np.repeat(np.arange(len(offsets) - 1) % 2 == ASKED, np.diff(offsets))
        yield split.tokens[offsets[0] : offsets[-1]][is_asked]

"""Language: predict every byte of a text from those before it, scored in bits per byte.

    bits per byte = -1/N sum_t log_2 p(byte_t | bytes before it in its window)

A window is given to the model behind a start token, so its first byte is predicted too, and a text
can be generated from nothing. Training counts every byte of a window; evaluation counts each byte
of the split once, with at least `overlap` bytes before it (`data/windows.py`).

The level is what the frequencies of the bytes of the training split reach on the test split. The
record also says what two compressors make of the same test bytes alone; they learn while they read.

Choice: each frequency is counted one too high, so that a byte that never came has one as well.
Choice: the standard error is over segments, which are taken as independent. Neighbouring segments
        of one article are not quite, so it is somewhat too small.
"""

import bz2
import lzma
import math

import numpy as np
import torch.nn.functional as F
from jaxtyping import Bool
from numpy.typing import NDArray
from torch import Tensor, arange, nn

from longarena.data.batches import Batch, Batches
from longarena.data.dataset import Bytes, Split
from longarena.data.windows import TrainingWindows, Windows
from longarena.model.backbone import Backbone
from longarena.model.config import ModelConfig
from longarena.model.heads import NextTokenHead
from longarena.model.model import Model
from longarena.options import Value
from longarena.seeding import seeded
from longarena.shapes import Ids, Labels
from longarena.tasks.signature import Signature
from longarena.tracks.base import Evaluation, Judgement, Level, Track
from longarena.tracks.metric import Metric
from longarena.tracks.tally import Tally

NUM_BYTES = 256
BLOCK = 1 << 24
IGNORED = -1
# the dictionary of `xz -9`
LARGEST_DICTIONARY = 1 << 26


class Language(Track):
    """The track of texts; an example is a window, of which the last bytes count."""

    metric = Metric(
        name="entropy", title="Cross entropy", unit="bits per byte", better="less", decimals=3
    )
    is_causal = True

    def build(self, config: ModelConfig, signature: Signature, seed: int) -> Model:
        with seeded(seed, "model"):
            # the token that a classifier would be asked for an answer is the start token here
            backbone = Backbone(config, signature, seed, causal=True, has_cls=True)
            num_tokens = signature.vocab_size - 1  # padding never follows
            return Model(backbone, NextTokenHead(config.width, num_tokens, backbone.num_prepended))

    def training_batches(
        self, split: Split, signature: Signature, batch_size: int, seed: int
    ) -> Batches:
        return TrainingWindows(split.tokens, signature.max_length, batch_size, seed)

    def examples(self, split: Split, signature: Signature) -> Windows:
        return Windows.of(split.tokens, signature.max_length, signature.overlap)

    def weight(self, batch: Batch) -> Tensor:
        """Count the bytes that are scored."""
        return (batch.ids != 0).sum() - batch.labels.sum()

    def judge(self, model: nn.Module, batch: Batch, label_smoothing: float = 0.0) -> Judgement:
        ids = batch.ids[:, 0]
        # the last byte is only predicted
        logits = model(batch.ids[..., :-1]).float()
        targets = (ids - 1).masked_fill(~counted(ids, batch.labels), IGNORED)
        pair = logits.flatten(0, 1), targets.flatten()
        losses = F.cross_entropy(*pair, ignore_index=IGNORED, reduction="none").view_as(ids)
        loss = losses.sum()
        objective = loss
        if label_smoothing:
            objective = F.cross_entropy(
                *pair, ignore_index=IGNORED, reduction="sum", label_smoothing=label_smoothing
            )
        bits = losses.detach().sum(dim=1) / math.log(2)
        num_right = (logits.argmax(dim=-1) == targets).sum(dim=1)
        return Judgement(objective, Tally.of(loss, bits, self.weight(batch)), bits, num_right)

    def level(self, train: Split, test: Split) -> Level:
        """Score the frequencies of the bytes of `train`."""
        counts = byte_counts(train.tokens)
        nats = -np.log((counts + 1) / (counts.sum() + NUM_BYTES))
        on_test, on_train = (
            float(nats @ each / each.sum()) for each in (byte_counts(test.tokens), counts)
        )
        return Level(on_test / math.log(2), on_train)

    def details(self, split: Split, found: Evaluation) -> dict[str, Value]:
        """State context and overlap, and what compressors reach on the same bytes."""
        if not isinstance(split, Windows):
            raise TypeError("only the windows of a stream have a context")
        levels: dict[str, Value] = {**compressed_bits(split.tokens)}
        return {"context": split.length, "overlap": split.overlap, "levels": levels}


def counted(ids: Ids, num_read: Labels) -> Bool[Tensor, "batch length"]:
    """Mark the tokens that count: the real ones behind those that are only read.

    >>> import torch
    >>> counted(torch.tensor([[5, 6, 7, 0]]), torch.tensor([1])).tolist()
    [[False, True, True, False]]
    """
    position = arange(ids.shape[1], device=ids.device)
    return (ids != 0) & (position >= num_read[:, None])


def byte_counts(stream: Bytes) -> NDArray[np.float64]:
    """Count every byte of a stream, a piece at a time: bincount takes eight bytes for each."""
    counts = np.zeros(NUM_BYTES)
    for start in range(0, len(stream), BLOCK):
        counts += np.bincount(stream[start : start + BLOCK], minlength=NUM_BYTES)
    return counts


def compressed_bits(stream: Bytes) -> dict[str, float]:
    """Return the bits per byte that `bzip2 -9` and `xz -9` reach."""
    content = stream.tobytes()
    # a dictionary that is larger than the content takes memory and gains nothing
    dictionary = min(LARGEST_DICTIONARY, max(1 << 12, len(content)))
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 9, "dict_size": dictionary}]
    found = {"bzip2 -9": bz2.compress(content, 9), "xz -9": lzma.compress(content, filters=filters)}
    return {name: 8 * len(packed) / len(content) for name, packed in found.items()}

"""Hide some tokens of a sequence, for a model that must fill them in.

    read      7  3  9  9  2           ids of a batch
    hidden    7  3 (9) 9 (2)          HIDDEN is added to the ids that are not shown

Real tokens and padding stay what they are: an id that is not 0 is real, one from HIDDEN on is
hidden. Padding is never hidden.

Choice: the share of each sequence is hidden exactly, rounded, but at least one token of it. The
        authors' code draws every token by itself, so that the number varies around the share; a
        number that follows from the length lets answers be computed at the hidden places alone.
Choice: in training the masks of step t are a function of (seed, t). What is scored is hidden in the
        same places for every run: they depend on the split alone.
"""

import numpy as np

from longarena.data.batches import Batch, TrainingBatches
from longarena.data.dataset import Chunk, DiskTokens, Integers, Split, collect
from longarena.data.sample import sample
from longarena.seeding import numpy_rng

HIDDEN = 1 << 20  # beyond every vocabulary


def num_hidden(length: int, share: float) -> int:
    """Return how many tokens of a sequence are hidden; never fewer for a longer one.

    >>> [num_hidden(length, 0.15) for length in (0, 1, 10, 100)]
    [0, 1, 2, 15]
    """
    return min(length, max(1, round(share * length)))


def hidden_places(length: int, share: float, rng: np.random.Generator) -> Integers:
    """Draw the places of a sequence that are hidden."""
    places: Integers = rng.permutation(length)[: num_hidden(length, share)]
    return places


class MaskedBatches:
    """The batches of a training run with some tokens hidden, others in every step."""

    def __init__(self, batches: TrainingBatches, share: float, seed: int) -> None:
        self.batches, self.share, self.seed = batches, share, seed

    def __getitem__(self, step: int) -> Batch:
        batch, rng = self.batches[step], numpy_rng(self.seed, "masks", step)
        ids = batch.ids.clone()
        for row in ids.numpy().reshape(-1, ids.shape[2]):
            row[hidden_places(int(np.count_nonzero(row)), self.share, rng)] += HIDDEN
        return Batch(ids, batch.labels)

    def padding_share(self) -> float:
        """Return the share of positions that are padding."""
        return self.batches.padding_share()


def masked_examples(split: Split, share: float, most: int) -> Split:
    """Hold up to `most` examples of a split in memory, with the same tokens hidden every time."""
    shown = sample(split, most)
    chunks = (_masked(shown, example, share) for example in range(len(shown)))
    return collect(chunks, shown.num_sequences)


def _masked(split: Split, example: int, share: float) -> Chunk:
    rng = numpy_rng(0, "masks", example)
    sequences = [split.sequence(example, which) for which in range(split.num_sequences)]
    hidden = [_hide(tokens, hidden_places(len(tokens), share, rng)) for tokens in sequences]
    lengths = np.array([len(tokens) for tokens in sequences], np.int64)
    return Chunk(np.concatenate(hidden), lengths, split.labels[example : example + 1])


def _hide(tokens: DiskTokens, places: Integers) -> DiskTokens:
    wide = tokens.astype(np.uint32)
    wide[places] += HIDDEN
    return wide

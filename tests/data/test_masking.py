"""Hidden tokens: how many, where, and that the same ones are hidden again."""

import numpy as np
import pytest

from longarena.data.batches import TrainingBatches, evaluation_batches
from longarena.data.dataset import Split
from longarena.data.masking import HIDDEN, MaskedBatches, masked_examples, num_hidden

pytestmark = pytest.mark.shapes

LENGTHS = [0, 1, 3, 20, 64, 90]
SHARE = 0.15


def split_of(lengths, num_sequences=1):
    offsets = np.cumsum([0, *lengths])
    tokens = (np.arange(offsets[-1]) % 250).astype(np.uint8)
    return Split(tokens, offsets, np.arange(len(lengths) // num_sequences), num_sequences)


def masked(step, seed=0, lengths=LENGTHS, num_sequences=1):
    split = split_of(lengths, num_sequences)
    return MaskedBatches(TrainingBatches(split, len(split), seed), SHARE, seed)[step]


@pytest.mark.parametrize("num_sequences", [1, 2])
def test_the_share_of_every_sequence_is_hidden_and_no_padding(num_sequences):
    ids = masked(0, num_sequences=num_sequences).ids.flatten(0, 1)
    real, hidden = (ids != 0).sum(dim=1), (ids >= HIDDEN).sum(dim=1)
    assert sorted(real.tolist()) == LENGTHS
    assert hidden.tolist() == [num_hidden(length, SHARE) for length in real.tolist()]
    assert sorted(hidden.tolist()) == [0, 1, 1, 3, 10, 14]


def test_hidden_tokens_keep_their_ids_and_others_are_as_they_were():
    plain = TrainingBatches(split_of(LENGTHS), len(LENGTHS), 0)[0].ids
    assert (masked(0).ids % HIDDEN).equal(plain)


def test_masks_are_a_function_of_seed_and_step():
    lengths = [64, 64]
    assert masked(3, lengths=lengths).ids.equal(masked(3, lengths=lengths).ids)
    places = {
        tuple((masked(step, seed, lengths).ids >= HIDDEN).flatten().tolist())
        for step, seed in [(0, 0), (1, 0), (0, 1)]
    }
    assert len(places) == 3


def test_what_is_scored_is_hidden_in_the_same_places_whatever_the_batch():
    split = split_of(LENGTHS)
    found = [masked_examples(split, SHARE, most=10) for _ in range(2)]
    assert (found[0].tokens == found[1].tokens).all()
    assert (found[0].tokens % HIDDEN == split.tokens).all()
    ids = [next(evaluation_batches(found[0], size)).ids[0] for size in (3, 6)]
    assert ids[0].equal(ids[1][:, : ids[0].shape[1]])
    # a validation may take a part of what is scored
    part = found[0].chosen(np.array([3, 5]))
    assert (part.sequence(1) == found[0].sequence(5)).all()


def test_of_many_examples_some_are_scored():
    split = split_of([5] * 40, num_sequences=2)
    assert len(masked_examples(split, 0.5, most=7)) == 7
    assert len(masked_examples(split, 0.5, most=100)) == 20

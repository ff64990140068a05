"""A part of a split gives what copying the examples would give."""

import numpy as np
import pytest

from longarena.data.batches import TrainingBatches, evaluation_batches
from longarena.data.dataset import Chunk, collect
from longarena.data.part import Part
from longarena.data.sample import sample

LENGTHS = [3, 9, 1, 5, 7, 2]


@pytest.fixture(params=[1, 2])
def pair(request):
    """A part, and the same examples copied."""
    texts = [bytes([n]) * n for n in LENGTHS]
    pairs = [texts[i : i + request.param] for i in range(0, len(texts), request.param)]
    split = collect((Chunk.of(each, i) for i, each in enumerate(pairs)), request.param)
    chosen = np.array([0, 2])
    copied = (Chunk.of([text[:4] for text in pairs[i]], int(i)) for i in chosen)
    return Part.of(split, chosen, 4), collect(copied, request.param)


def test_examples_are_chosen_and_cut(pair):
    part, copied = pair
    assert len(part) == len(copied) == 2
    np.testing.assert_array_equal(part.labels, copied.labels)
    np.testing.assert_array_equal(part.lengths, copied.lengths)
    np.testing.assert_array_equal(part.num_tokens, copied.num_tokens)


def test_batches_are_the_same(pair):
    part, copied = pair
    for ours, theirs in zip(
        evaluation_batches(part, 1), evaluation_batches(copied, 1), strict=True
    ):
        assert ours.ids.equal(theirs.ids)
        assert ours.labels.equal(theirs.labels)
    batches = [TrainingBatches(each, 2, seed=0)[0] for each in pair]
    assert batches[0].ids.equal(batches[1].ids)


def test_a_sample_of_a_part_is_cut_too(pair):
    part, copied = pair
    np.testing.assert_array_equal(sample(part, 1).tokens, sample(copied, 1).tokens)

import threading

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from longarena.data.batches import (
    Batch,
    TrainingBatches,
    assemble,
    evaluation_batches,
    one_ahead,
    round_up,
)
from longarena.data.dataset import Split
from longarena.errors import UserError

pytestmark = pytest.mark.shapes


def split_of(lengths, num_sequences=1):
    """A split whose example i is made of the byte i."""
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    examples = len(lengths) // num_sequences
    tokens = np.concatenate([np.full(n, i % 256, np.uint8) for i, n in enumerate(lengths)])
    return Split(tokens, offsets, np.arange(examples) % 3, num_sequences)


LENGTHS = np.random.default_rng(0).integers(1, 300, 100)


def test_ids_are_bytes_plus_one_and_padding_is_zero():
    batch = assemble(split_of([3, 1, 70]), np.array([2, 0]))
    assert batch.ids.shape == (2, 1, 128)
    assert batch.ids[0, 0, :70].eq(3).all()
    assert batch.ids[0, 0, 70:].eq(0).all()
    assert batch.ids[1, 0, :4].tolist() == [1, 1, 1, 0]
    assert batch.labels.tolist() == [2, 0]


def test_the_largest_byte_does_not_wrap_around():
    split = Split(np.array([255], np.uint8), np.array([0, 1]), np.array([0]), 1)
    assert assemble(split, np.array([0])).ids[0, 0, 0] == 256


def test_the_sequences_of_a_pair_are_padded_to_one_length():
    batch = assemble(split_of([3, 100, 7, 2], num_sequences=2), np.array([0, 1]))
    assert batch.ids.shape == (2, 2, 128)
    assert (batch.ids != 0).sum(dim=2).tolist() == [[3, 100], [7, 2]]


def test_a_step_has_the_same_batch_whatever_was_asked_before():
    split = split_of(LENGTHS)
    in_order, jumping = TrainingBatches(split, 8, seed=1), TrainingBatches(split, 8, seed=1)
    expected = [in_order[step].ids for step in range(40)]
    assert torch.equal(jumping[37].ids, expected[37])
    assert torch.equal(jumping[2].ids, expected[2])


def test_seeds_and_epochs_shuffle_differently():
    split = split_of(LENGTHS)
    batches = TrainingBatches(split, 8, seed=1)
    assert not torch.equal(batches[0].labels, TrainingBatches(split, 8, seed=2)[0].labels)
    epochs = [torch.cat([batches[e * 12 + i].labels for i in range(12)]) for e in (0, 1)]
    assert not torch.equal(*epochs)


@given(st.lists(st.integers(0, 500), min_size=8, max_size=60), st.integers(1, 8))
def test_an_epoch_uses_every_example_at_most_once_and_almost_all(lengths, batch_size):
    batches = TrainingBatches(split_of(lengths), batch_size, seed=0)
    used = batches._plan(0).ravel().tolist()
    assert len(set(used)) == len(used) == len(lengths) // batch_size * batch_size


def test_batches_hold_like_lengths_and_little_padding():
    lengths = np.random.default_rng(0).integers(500, 2000, 20_000)
    batches = TrainingBatches(split_of(lengths), 32, seed=0)
    assert batches.padding_share() < 0.03
    random_order = np.random.default_rng(0).permutation(20_000)[:32]
    assert lengths[random_order].mean() / lengths[random_order].max() < 0.8


def test_the_padding_share_is_what_the_batches_hold():
    batches = TrainingBatches(split_of(LENGTHS), 10, seed=3)
    ids = [batches[step].ids for step in range(10)]
    padding = sum(int((i == 0).sum()) for i in ids) / sum(i.numel() for i in ids)
    assert batches.padding_share() == pytest.approx(padding)


def test_evaluation_sees_every_example_once():
    split = split_of(LENGTHS[:50])
    seen = [int(row[0]) - 1 for batch in evaluation_batches(split, 8) for row in batch.ids[:, 0]]
    assert sorted(seen) == list(range(50))


def test_too_few_examples_for_a_batch_are_refused():
    with pytest.raises(UserError, match="smaller batch"):
        TrainingBatches(split_of([1, 2]), 3, seed=0)


def test_parts_of_a_batch_make_up_the_whole():
    batch = assemble(split_of(LENGTHS), np.arange(9))
    parts = [batch.part(which, of=2) for which in (0, 1)]
    assert sorted(torch.cat([p.labels for p in parts]).tolist()) == sorted(batch.labels.tolist())
    assert parts[0].ids.shape[2] == batch.ids.shape[2]


def test_the_next_batch_is_made_in_a_thread_while_one_is_used():
    made = {}

    def make(step):
        made[step] = threading.current_thread()
        return Batch(torch.full((1, 1, 1), step), torch.zeros(1, dtype=torch.int64))

    ahead = one_ahead(make, 3, 6)
    assert [int(batch.ids) for batch in ahead] == [3, 4, 5]
    assert all(thread is not threading.main_thread() for thread in made.values())


def test_nothing_is_made_when_there_is_nothing_to_do():
    assert list(one_ahead(lambda step: pytest.fail("made"), 5, 5)) == []


def test_a_mistake_in_the_thread_reaches_the_loop():
    def fail(step):
        raise ValueError("unreadable")

    with pytest.raises(ValueError, match="unreadable"):
        list(one_ahead(fail, 0, 2))


def test_rounding_never_shortens():
    assert [round_up(n, 8) for n in (1, 8, 9, 16)] == [8, 8, 16, 16]

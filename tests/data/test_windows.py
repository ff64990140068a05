import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from longarena.data.batches import evaluation_batches
from longarena.data.sample import sample
from longarena.data.windows import TrainingWindows, Windows
from longarena.errors import UserError

pytestmark = pytest.mark.shapes

STREAM = np.random.default_rng(0).integers(0, 256, 5000).astype(np.uint8)


def test_a_step_has_the_same_windows_whatever_was_asked_before():
    in_order = TrainingWindows(STREAM, 64, 4, seed=1)
    jumping = TrainingWindows(STREAM, 64, 4, seed=1)
    expected = [in_order[step].ids for step in range(9)]
    assert torch.equal(jumping[7].ids, expected[7])
    assert torch.equal(jumping[2].ids, expected[2])
    assert not torch.equal(expected[0], expected[1])
    assert not torch.equal(TrainingWindows(STREAM, 64, 4, seed=2)[0].ids, expected[0])


def test_windows_are_stretches_of_the_stream_of_which_all_tokens_count():
    batch = TrainingWindows(STREAM, 50, 8, seed=0)[3]
    assert batch.ids.shape == (8, 1, 50)
    assert batch.labels.tolist() == [0] * 8
    content = STREAM.tobytes()
    assert all(bytes((row - 1).tolist()) in content for row in batch.ids[:, 0])


def test_the_largest_byte_does_not_wrap_around():
    batch = TrainingWindows(np.full(8, 255, np.uint8), 8, 2, seed=0)[0]
    assert batch.ids.unique().tolist() == [256]


def test_every_stretch_can_be_drawn_the_first_and_the_last_too():
    windows = TrainingWindows(np.arange(10, dtype=np.uint8), 7, 4, seed=0)
    starts = {int(row[0]) - 1 for step in range(30) for row in windows[step].ids[:, 0]}
    assert starts == {0, 1, 2, 3}


def test_a_stream_that_is_shorter_than_a_window_is_refused():
    with pytest.raises(UserError, match=r"10 bytes .* fewer than a window of 11"):
        TrainingWindows(STREAM[:10], 11, 2, seed=0)


@given(st.integers(1, 200), st.integers(2, 40), st.data())
def test_every_token_counts_once_with_enough_before_it(size, length, data):
    overlap = data.draw(st.integers(0, length - 1))
    # a token says where it stands
    windows = Windows.of(np.arange(size, dtype=np.uint8), length, overlap)
    counted = []
    for i in range(len(windows)):
        tokens, read = windows.sequence(i), int(windows.labels[i])
        assert len(tokens) == windows.lengths[i] <= length
        assert (np.diff(tokens.astype(int)) == 1).all()
        counted += tokens[read:].tolist()
        assert read >= overlap or tokens[0] == 0
    assert counted == list(range(size))


def test_a_sample_of_windows_keeps_what_is_only_read():
    windows = Windows.of(STREAM, 64, 16)
    part = sample(windows, 7)
    assert len(part) == 7
    batch = next(evaluation_batches(part, 7))
    assert batch.ids.shape == (7, 1, 64)
    assert set(batch.labels.tolist()) <= {0, 16, 64 - 5000 % 48}

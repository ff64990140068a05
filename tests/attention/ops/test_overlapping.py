import pytest
import torch

from longarena.attention.ops.blocks import Window, attend, sliding_window
from longarena.attention.ops.overlapping import attend_in_windows, lay

WINDOWS = [
    Window(block=8, before=8, after=8),
    Window(block=8, before=5, after=0),
    Window(block=8, before=0, after=0),
    Window(block=8, before=19, after=3),
    Window(block=3, before=16, after=16),
    Window(block=61, before=60, after=60),
]


def heads(length, batch=2, num_heads=3, size=4):
    x = torch.randn(batch, length, num_heads, size, dtype=torch.float64)
    return x.transpose(1, 2).requires_grad_()


@pytest.mark.parametrize("window", WINDOWS, ids=str)
@pytest.mark.parametrize("lengths", [(61,), (61, 40), (17, 17, 1)])
def test_overlapping_windows_give_what_gathered_ones_give(window, lengths):
    torch.manual_seed(0)
    tensors = [heads(max(lengths), len(lengths)) for _ in range(3)]
    mask = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
    y = attend_in_windows(*tensors, mask, window)
    expected = attend(sliding_window(mask, window), *tensors)
    seen = mask[:, None, :, None]
    torch.testing.assert_close(y.where(seen, 0.0), expected.where(seen, 0.0))
    direction = torch.randn_like(y).where(seen, 0.0)
    ours, theirs = (torch.autograd.grad(t, tensors, direction) for t in (y, expected))
    torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_the_gradient_of_windows_counts_every_time_that_a_key_is_shown(window):
    x = heads(61)
    lay(x, window).sum().backward()
    # zeros stand where a window reaches out of the sequence
    positions = window.positions(61)
    shown = positions[(positions >= 0) & (positions < 61)].bincount(minlength=61)
    assert torch.equal(x.grad[0, 0, :, 0], shown.double())


def test_windows_over_one_sequence_are_not_copied():
    x = heads(64, batch=1)
    windows = lay(x.detach(), Window(block=8, before=16, after=16))
    assert windows.shape == (8, 3, 40, 4)
    assert windows.untyped_storage().nbytes() == (64 + 32) * 3 * 4 * 8

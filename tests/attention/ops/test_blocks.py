import gc
from dataclasses import replace

import pytest
import torch
from torch.multiprocessing.reductions import StorageWeakRef

from longarena.attention.ops.blocks import (
    Window,
    attend,
    cut,
    cut_mask,
    gather,
    join,
    look_up,
    sliding_window,
)


def heads(length, size=4, batch=2, num_heads=3):
    """Random heads as a projection gives them: the positions outside, the heads within."""
    x = torch.randn(batch, length, num_heads, size, dtype=torch.float64)
    return x.transpose(1, 2)


def full_mask(length, batch=2):
    return torch.ones(batch, length, dtype=torch.bool)


@pytest.mark.parametrize("length", [1, 7, 8, 9, 40])
@pytest.mark.parametrize(("block", "step"), [(8, 1), (4, 3), (1, 5), (64, 1)])
def test_joining_undoes_cutting(length, block, step):
    x = heads(length)
    assert torch.equal(join(cut(x, block, step), 2, length, step), x)


@pytest.mark.parametrize(("block", "step"), [(8, 1), (4, 3)])
def test_a_cut_mask_tells_the_real_positions_of_the_blocks(block, step):
    mask = torch.arange(21) < torch.tensor([[21], [10]])
    as_values = cut(mask[:, None, :, None].double(), block, step)
    assert torch.equal(cut_mask(mask, block, step)[:, 0, 0], as_values[:, 0, :, 0] == 1)


def test_whole_blocks_are_cut_without_a_copy():
    x = heads(32)
    assert cut(x, 8).data_ptr() == x.data_ptr()


@pytest.mark.parametrize("tables", [1, 3])
def test_gathered_keys_are_those_at_the_positions(tables):
    x = heads(20)
    positions = torch.randint(0, 20, (2, 5, 6, tables))
    rows, allowed = look_up(full_mask(20), positions)
    found = gather(x, rows).unflatten(0, (2, 5))
    for row, block, head in [(0, 0, 0), (1, 4, 2), (1, 0, 1)]:
        expected = x[row, head, positions[row, block, :, head % tables]]
        assert torch.equal(found[row, block, head], expected)
    assert allowed.all()


def test_positions_outside_and_padded_ones_are_no_keys():
    mask = torch.arange(6) < torch.tensor([[6], [4]])
    positions = torch.tensor([-1, 0, 4, 6])[None, None, :, None]
    _, allowed = look_up(mask, positions)
    assert allowed[:, 0, 0].tolist() == [[False, True, True, False], [False, True, False, False]]


@pytest.mark.parametrize("size", [4, 3])
@pytest.mark.parametrize("num_global", [0, 2])
def test_gathering_again_gives_the_gradient_of_the_dense_formula(size, num_global):
    q, k, v = heads(21), heads(21), heads(21, size)
    pattern = sliding_window(full_mask(21), Window(4, 3, 2), num_global)
    position = torch.arange(21)
    ahead = position - position[:, None]
    seen = (ahead >= -3) & (ahead <= 2) | (position < num_global)
    inputs = [t.requires_grad_() for t in (q, k, v)]
    logits = (q @ k.mT / 2).masked_fill(~seen, -torch.inf)
    expected, y = logits.softmax(-1) @ v, attend(pattern, q, k, v)
    direction = torch.randn_like(y)
    torch.testing.assert_close(y, expected)
    torch.testing.assert_close(
        torch.autograd.grad(y, inputs, direction), torch.autograd.grad(expected, inputs, direction)
    )


def test_what_was_gathered_is_not_kept_for_the_backward_pass():
    made = []

    def sets(x):
        found = pattern.sets(x)
        made.append(StorageWeakRef(found.untyped_storage()))
        return found

    pattern = sliding_window(full_mask(40), Window(8, 8, 8))
    q, k, v = (heads(40).requires_grad_() for _ in range(3))
    y = attend(replace(pattern, sets=sets), q, k, v)
    assert [one.expired() for one in made] == [True, True]
    y.sum().backward()
    assert len(made) == 4


def test_a_forward_pass_without_a_backward_pass_leaves_nothing_behind():
    pattern = sliding_window(full_mask(40), Window(8, 8, 8))
    q, k, v = (heads(40).requires_grad_() for _ in range(3))
    gc.collect()
    gc.disable()
    try:
        kept = StorageWeakRef(attend(pattern, q, k, v).untyped_storage())
        assert kept.expired()
    finally:
        gc.enable()

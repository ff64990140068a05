import pytest
import torch

from longarena.attention.ops.hierarchy import build_levels, coarsen, refine


def row(length, *, padding=0):
    return torch.arange(length + padding)[None] < length


def meetings(levels, length):
    """How often each two tokens meet on any level, and on which."""
    count, at = torch.zeros(length, length), torch.full((length, length), -1)
    tokens = torch.arange(length)
    for number, level in enumerate(levels):
        cell = tokens // 2**number
        block, place = cell // level.block, cell % level.block
        full = level.bias.expand(-1, -1, -1, -1, level.block, -1)[:, 0, 0]
        for bias, offset in zip(full, level.offsets, strict=True):
            beside = block[None, :] - block[:, None] == offset
            meets = bias[block[:, None], place[:, None], place[None, :]].isfinite() & beside
            count += meets
            at[meets] = number
    return count, at


@pytest.mark.parametrize("block", [2, 4, 6, 16])
@pytest.mark.parametrize("length", [1, 2, 16, 31, 61, 100, 128])
def test_every_two_tokens_meet_once(length, block):
    count, _ = meetings(build_levels(row(length), block, torch.float32), length)
    assert torch.equal(count, torch.ones(length, length))


def test_the_level_of_two_tokens_is_the_finest_at_which_their_blocks_touch():
    _, at = meetings(build_levels(row(100), 4, torch.float32), 100)
    blocks = torch.stack([torch.arange(100) // 2**level // 4 for level in range(8)])
    touch = (blocks[:, :, None] - blocks[:, None]).abs() <= 1
    assert torch.equal(at, touch.int().argmax(dim=0))


@pytest.mark.parametrize("padding", [1, 7, 64, 200])
def test_with_padding_behind_them_two_tokens_meet_on_the_same_level(padding):
    plain = build_levels(row(61), 4, torch.float32)
    padded = build_levels(row(61, padding=padding), 4, torch.float32)
    for count, other in zip(meetings(plain, 61), meetings(padded, 61), strict=True):
        assert torch.equal(count, other)


@pytest.mark.parametrize("padding", [1, 7, 64, 200])
def test_nobody_meets_padding(padding):
    for number, level in enumerate(build_levels(row(61, padding=padding), 4, torch.float64)):
        num_cells = 4 * level.bias.shape[3]
        beside = torch.arange(num_cells).view(-1, 4)
        for bias, offset in zip(level.bias[:, 0, 0], level.offsets, strict=True):
            start = (beside + 4 * offset) << number
            empty = (start >= 61) | (start < 0)
            assert bias.isneginf().all(dim=1)[empty].all()


def test_a_bias_is_the_logarithm_of_how_many_tokens_a_cell_has():
    level = build_levels(row(27), 2, torch.float64)[2]  # cells of 4 tokens, the last one of 3
    sizes = level.bias[1, 0, 0, 2].exp()  # what block 2 meets after itself: tokens 24 .. 31
    assert sizes[0].round().tolist() == [3, 0]


def test_means_leave_out_what_is_empty_and_weigh_values_by_their_number():
    first, second, third = build_levels(row(3, padding=61), 2, torch.float64)[:3]
    x = torch.tensor([3.0, 5.0, 10.0, 99.0] + 60 * [99.0], dtype=torch.float64).view(1, 1, -1, 1)
    halves = coarsen(x, first.key_share, 2)
    assert halves[0, 0, :2, 0].tolist() == [4.0, 10.0]
    assert coarsen(halves, second.key_share, 2)[0, 0, 0, 0] == 7.0
    values = coarsen(coarsen(x, first.value_share, 2), second.value_share, 2)
    torch.testing.assert_close(values[0, 0, 0, 0].item(), 6.0)
    assert coarsen(values, third.value_share, 2)[0, 0, 0, 0] == values[0, 0, 0, 0]


def test_refining_is_the_gradient_of_coarsening():
    level = build_levels(row(27), 4, torch.float64)[0]
    x = torch.randn(1, 2, 28, 3, dtype=torch.float64, requires_grad=True)
    y = coarsen(x, level.value_share, 4)
    slope = torch.randn_like(y)
    y.backward(slope)
    torch.testing.assert_close(refine(slope, level.value_share), x.grad)

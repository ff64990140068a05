import math

import pytest
import torch

from longarena.attention.ops import chosen_blocks
from longarena.attention.ops.chosen_attention import attend_to_chosen
from longarena.attention.ops.chosen_blocks import arrange

HEADS, SIZE = 3, 4
CASES = [(61, 8, 4), (64, 8, 3), (33, 1, 5), (20, 64, 1), (1, 4, 1), (50, 7, 8)]
over_cases = pytest.mark.parametrize(("length", "block", "slots"), CASES)
both_ways = pytest.mark.parametrize("causal", [False, True])


def inputs(length, batch=2, dtype=torch.float64):
    """Random queries, keys and values as projections give them, and a mask with a short row."""
    torch.manual_seed(0)
    q, k, v = (
        torch.randn(batch, length, HEADS, SIZE, dtype=dtype).transpose(1, 2).requires_grad_()
        for _ in range(3)
    )
    return q, k, v, torch.arange(length) < torch.tensor([[length], [max(1, length // 2)]])


def random_blocks(mask, block, slots, causal):
    """Blocks that exist and have begun, each query's own for itself; none where too few have."""
    batch, length = mask.shape
    number = torch.arange(-(-length // block))
    allowed = mask[:, None, None, ::block].expand(batch, HEADS, length, -1)
    if causal:
        allowed = allowed & (number * block <= torch.arange(length)[:, None])
    scores = torch.rand(allowed.shape).masked_fill(~allowed, -math.inf)
    best = scores.topk(min(slots, len(number)), dim=-1)
    return best.indices.masked_fill(best.values == -math.inf, len(number))


def masked_attention(tensors, mask, chosen, block, causal):
    """The same with the whole matrix."""
    (q, k, v), length = tensors, mask.shape[1]
    is_chosen = torch.zeros(*chosen.shape[:3], -(-length // block) + 1, dtype=torch.bool)
    is_chosen = is_chosen.scatter(-1, chosen, value=True)[..., :-1]
    seen = is_chosen.repeat_interleave(block, dim=-1)[..., :length] & mask[:, None, None]
    seen = seen.tril() if causal else seen
    logits = (q @ k.mT / math.sqrt(SIZE)).masked_fill(~seen, torch.finfo(q.dtype).min)
    return torch.where(seen, logits.softmax(dim=-1), 0.0) @ v


def compare(tensors, mask, chosen, block, causal):
    y = attend_to_chosen(*tensors, arrange(chosen, mask, block, causal))
    expected = masked_attention(tensors, mask, chosen, block, causal)
    torch.testing.assert_close(y, expected)
    direction = torch.randn_like(y)
    ours, theirs = (torch.autograd.grad(t, tensors, direction) for t in (y, expected))
    torch.testing.assert_close(ours, theirs)


@over_cases
@both_ways
def test_it_is_softmax_over_the_keys_of_the_chosen_blocks(length, block, slots, causal):
    *tensors, mask = inputs(length)
    chosen = random_blocks(mask, block, slots, causal)
    compare(tensors, mask, chosen, block, causal)


@both_ways
@pytest.mark.parametrize("places", [1, 40, 200, 10**6])
def test_parts_and_tiles_of_any_size_give_the_same(monkeypatch, places, causal):
    monkeypatch.setattr(chosen_blocks, "PLACES_OF_PART", 3 * places)
    monkeypatch.setattr(chosen_blocks, "PLACES_OF_TILE", places)
    *tensors, mask = inputs(61)
    compare(tensors, mask, random_blocks(mask, 8, 4, causal), 8, causal)


@pytest.mark.parametrize("number", [0, 3, 7])
def test_a_block_that_all_choose_has_room_for_all(number):
    *tensors, _ = inputs(64)
    mask = torch.ones(2, 64, dtype=torch.bool)
    compare(tensors, mask, torch.full((2, HEADS, 64, 1), number), 8, causal=False)


def test_the_chunks_suffice_where_every_block_begins_one_for_its_last_query():
    mask = torch.ones(1, 64, dtype=torch.bool)
    # chunks of four, 15 blocks with 13 queries and one with 61
    blocks = torch.arange(16).repeat_interleave(torch.tensor([13] * 15 + [61]))
    arrangement = arrange(blocks.view(1, 1, 64, 4), mask, block=4)
    used = (arrangement.query.view(-1, 4) < 64).sum(dim=1)
    assert used.sum() == 64 * 4
    assert (used > 0).sum() == arrangement.block.shape[1] - 1 == 76


@over_cases
def test_every_choice_has_a_place_of_its_own_in_a_chunk_of_its_block(length, block, slots):
    mask = inputs(length)[-1]
    chosen = random_blocks(mask, block, slots, causal=False)
    arrangement = arrange(chosen, mask, block)
    chunk = arrangement.query.shape[1] // arrangement.block.shape[1]
    for row, choices in enumerate(chosen.flatten(0, 1)):
        exists = choices < -(-length // block)
        places = arrangement.place[row][exists]
        assert places.unique().numel() == places.numel()
        queries = torch.arange(length)[:, None].expand_as(choices)[exists]
        assert torch.equal(arrangement.query[row][places], queries)
        assert torch.equal(arrangement.block[row][places // chunk], choices[exists])
        assert (arrangement.query[row] < length).sum() == places.numel()
        assert arrangement.query[row, -1] == length


def test_a_query_without_a_block_gets_zero_and_gives_no_gradient():
    q, k, v, mask = inputs(20)
    chosen = torch.full((2, HEADS, 20, 2), 5)
    chosen[:, :, 3:] = torch.tensor([0, 1])
    y = attend_to_chosen(q, k, v, arrange(chosen, mask, 4))
    assert (y[:, :, :3] == 0).all()
    y.sum().backward()
    assert (q.grad[:, :, :3] == 0).all()
    assert all(t.grad.isfinite().all() for t in (q, k, v))


def test_large_logits_do_not_overflow():
    *tensors, mask = inputs(61)
    chosen = random_blocks(mask, 8, 4, causal=False)
    single = [(30 * t.detach()).float().requires_grad_() for t in tensors]
    y = attend_to_chosen(*single, arrange(chosen, mask, 8))
    expected = masked_attention([t.double() for t in single], mask, chosen, 8, causal=False)
    torch.testing.assert_close(y.double(), expected, rtol=1e-3, atol=1e-2)
    y.sum().backward()
    assert all(t.grad.isfinite().all() for t in single)


def test_in_half_precision_partial_sums_are_merged_in_single():
    *tensors, mask = inputs(61)
    chosen = random_blocks(mask, 8, 4, causal=False)
    half = [t.detach().to(torch.bfloat16) for t in tensors]
    y = attend_to_chosen(*half, arrange(chosen, mask, 8))
    expected = attend_to_chosen(*(t.double() for t in half), arrange(chosen, mask, 8))
    assert y.dtype == torch.bfloat16
    torch.testing.assert_close(y.double(), expected, rtol=0.01, atol=0.01)

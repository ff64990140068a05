import pytest
import torch

from longarena.attention.ops.block_selection import Compression, look_at_blocks, select_blocks

MASK = torch.arange(26) < torch.tensor([[26], [9]])


def selected(scores, causal, select, mask=MASK[:1], block=4):
    """The sets of blocks that the queries select, if block j has the product scores[j]."""
    keys = torch.tensor(scores, dtype=torch.float64)[None, None, :, None]
    q = torch.ones(1, 1, mask.shape[1], 1, dtype=torch.float64)
    chosen = select_blocks(q, keys, look_at_blocks(mask, block, causal), select)
    return [sorted(set(row) - {len(scores)}) for row in chosen[0, 0].tolist()]


def test_the_first_block_and_those_around_a_query_come_first_then_the_best():
    found = selected([0.0, 1.0, 5.0, 2.0, 4.0, 3.0, 9.0], causal=False, select=5)
    assert found[0] == [0, 1, 2, 4, 6]
    assert found[4] == [0, 1, 2, 4, 6]
    assert found[13] == [0, 2, 3, 4, 6]
    assert found[17] == [0, 3, 4, 5, 6]
    assert found[25] == [0, 2, 4, 5, 6]


def test_when_causal_a_block_is_selected_by_its_weight_once_it_is_complete():
    found = selected([0.0, 1.0, 5.0, 2.0, 4.0, 3.0, 9.0], causal=True, select=4)
    assert found[0] == found[3] == [0]
    assert found[4] == [0, 1]
    assert found[8] == found[11] == [0, 1, 2]
    assert found[15] == [0, 1, 2, 3]
    assert found[23] == [0, 2, 4, 5]


def test_blocks_of_padding_are_never_selected():
    found = selected([9.0] * 7, causal=False, select=6, mask=MASK[1:])
    assert set(map(tuple, found[:9])) == {(0, 1, 2)}


def test_more_than_there_are_selects_all():
    found = selected([0.0] * 7, causal=False, select=100)
    assert all(row == list(range(7)) for row in found)


@pytest.mark.parametrize("causal", [False, True])
def test_the_queries_from_a_position_on_see_what_they_see_among_all(causal):
    whole, last = look_at_blocks(MASK, 4, causal), look_at_blocks(MASK, 4, causal, first=17)
    for one, other in ((whole.seen, last.seen), (whole.fixed, last.fixed)):
        assert torch.equal(one.expand(-1, -1, 26, -1)[:, :, 17:], other.expand(-1, -1, 9, -1))


def test_compression_is_an_mlp_of_a_block_whose_padding_is_zero():
    torch.manual_seed(0)
    compression, position = Compression(4, 3).double(), torch.randn(4, 3, dtype=torch.float64)
    t = torch.randn(2, 5, 26, 3, dtype=torch.float64)
    tokens = torch.where(MASK[:, None, :, None], t + position.repeat(7, 1)[:26], 0.0)
    tokens = torch.nn.functional.pad(tokens, (0, 0, 0, 2)).reshape(2, 5, 7, 12)
    expected = torch.relu(tokens @ compression.inner.weight.T) @ compression.outer.weight.T
    torch.testing.assert_close(compression(t, MASK, position), expected)

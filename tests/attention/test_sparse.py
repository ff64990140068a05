import pytest
import torch
from attention.cases import make, tokens
from attention.definitions import transformer

from longarena.attention import build, matrix
from longarena.errors import UserError


@pytest.mark.parametrize("pattern", ["strided", "fixed"])
@pytest.mark.parametrize("stride", [61, 300])
@pytest.mark.parametrize("causal", [False, True])
def test_merged_with_a_stride_of_the_whole_length_is_full_attention(pattern, stride, causal):
    options = {"pattern": pattern, "stride": stride, "merged": True}
    mixer = make("sparse", options, causal=causal)
    x, mask = tokens(61, 40)
    expected = transformer.definition(x, mask, mixer.state_dict(), mixer.place, None)
    torch.testing.assert_close(mixer(x, mask)[mask], expected[mask])


def test_half_of_the_heads_look_near_and_half_along_the_column():
    near, column = matrix(make("sparse", {"stride": 4}), *tokens(16))[0] > 0
    distance = (torch.arange(16)[:, None] - torch.arange(16)).abs()
    assert torch.equal(near, distance <= 4)
    assert torch.equal(column, distance % 4 == 0)


def test_a_query_before_the_first_summary_sees_itself():
    mixer = make("sparse", {"pattern": "fixed", "stride": 8, "summary": 1}, causal=True)
    near, summary = matrix(mixer, *tokens(16))[0]
    assert torch.equal(summary[:7], torch.eye(16, dtype=near.dtype)[:7])
    for part in (near, summary):
        torch.testing.assert_close(part.sum(-1), torch.ones(16, dtype=near.dtype))


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("pattern", ["strided", "fixed"])
@pytest.mark.parametrize("stride", [8, 61, 100])
def test_a_row_sums_to_one_whatever_the_stride(pattern, stride, causal):
    mixer = make("sparse", {"pattern": pattern, "stride": stride, "summary": 4}, causal=causal)
    x, mask = tokens(61, 40, 9)
    rows = matrix(mixer, x, mask).sum(dim=-1).transpose(1, 2)[mask]
    torch.testing.assert_close(rows, torch.ones_like(rows))


def test_a_single_head_takes_the_parts_in_turn_from_layer_to_layer():
    x, mask = tokens(16)
    distance = (torch.arange(16)[:, None] - torch.arange(16)).abs()
    for layer, expected in [(0, distance <= 4), (1, distance % 4 == 0)]:
        mixer = build(
            "sparse",
            width=16,
            num_heads=1,
            max_length=64,
            layer=layer,
            depth=2,
            options={"stride": 4},
        )
        assert torch.equal(matrix(mixer.double(), x, mask)[0, 0] > 0, expected)


def test_summaries_longer_than_the_stride_are_refused():
    with pytest.raises(UserError, match="summary 9 is more than the stride 8; choose at most 8"):
        make("sparse", {"pattern": "fixed", "stride": 8, "summary": 9})

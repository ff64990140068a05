import pytest
import torch
from attention.cases import make, tokens
from attention.definitions import bigbird, transformer

from longarena.attention import build, matrix
from longarena.errors import UserError


@pytest.mark.parametrize(
    "options", [{"block": 8, "global_blocks": 8}, {"block": 1, "etc": 61}, {"block": 64}]
)
def test_with_everything_global_it_is_full_attention(options):
    mixer = make("bigbird", options)
    x, mask = tokens(61, 40)
    expected = transformer.definition(x, mask, mixer.state_dict(), mixer.place, None)
    torch.testing.assert_close(mixer(x, mask)[mask], expected[mask])


def seen_blocks(mixer, length, block):
    """Which blocks of keys each block of queries sees: (H, blocks, blocks)."""
    weights = matrix(mixer, *tokens(length))[0] > 0
    return weights.unfold(1, block, block).unfold(2, block, block).flatten(3).all(3)


def test_every_block_sees_its_window_the_first_blocks_and_as_many_random_ones():
    mixer = make("bigbird", {"block": 4, "global_blocks": 1, "random": 2})
    seen = seen_blocks(mixer, 128, 4)
    inner = torch.arange(3, 31)
    assert seen[:, 0].all()
    assert seen[:, :, 0].all()
    assert all(seen[:, inner, inner + shift].all() for shift in (-1, 0, 1))
    assert (seen[:, inner].sum(-1) == 1 + 3 + 2).all()


def test_random_blocks_lie_in_the_whole_row_and_differ_by_head_and_layer():
    options = {"block": 2, "window": 1, "global_blocks": 0, "random": 1}
    lower, upper = (
        build(
            "bigbird",
            width=16,
            num_heads=2,
            max_length=128,
            layer=layer,
            depth=2,
            options=options,
        ).double()
        for layer in (0, 1)
    )
    seen = seen_blocks(lower, 128, 2).double() - torch.eye(64)
    drawn = (seen @ torch.arange(64.0).double()) / 64
    # uniform over [0, 1): the mean of 128 draws lies within four standard errors of a half
    assert abs(drawn.mean() - 0.5) < 4 * (1 / 12 / 128) ** 0.5
    assert drawn.max() > 0.9
    assert not torch.equal(seen[0], seen[1])
    assert not torch.equal(seen, seen_blocks(upper, 128, 2).double() - torch.eye(64))


@pytest.mark.parametrize("length", [63, 64, 65, 1000])
def test_the_default_blocks_equal_the_definition_at_any_length(length):
    mixer = make("bigbird", {}, max_length=1000)
    x, mask = tokens(length, length // 2 + 1)
    options = mixer.options_type()
    expected = bigbird.definition(x, mask, mixer.state_dict(), mixer.place, options)
    torch.testing.assert_close(mixer(x, mask)[mask], expected[mask])


def test_extra_global_tokens_stand_before_the_blocks():
    options = {"block": 4, "window": 1, "random": 0, "global_blocks": 0, "etc": 2}
    seen = matrix(make("bigbird", options), *tokens(10))[0, 0] > 0
    expected = torch.block_diag(torch.ones(2, 2), torch.ones(4, 4), torch.ones(4, 4)) > 0
    expected[:2], expected[:, :2] = True, True
    assert torch.equal(seen, expected)
    assert make("bigbird", options).num_global_tokens == 2


def test_a_window_that_cannot_be_centred_is_refused():
    with pytest.raises(UserError, match="a window is centred on its block; choose 5"):
        make("bigbird", {"window": 4})


def test_when_causal_a_block_sees_its_past_and_as_many_random_blocks():
    options = {"block": 4, "window": 5, "global_blocks": 1, "random": 2}
    mixer = make("bigbird", options, causal=True)
    weights = matrix(mixer, *tokens(128))[0]
    back = torch.arange(128)[:, None] - torch.arange(128)
    assert not weights[:, back < 0].any()
    assert (weights.diagonal(dim1=1, dim2=2) > 0).all()
    seen = weights.unfold(1, 4, 4).unfold(2, 4, 4).flatten(3).ne(0).any(3)
    late = torch.arange(5, 32)
    assert seen[:, :, 0].all()
    assert all(seen[:, late, late - shift].all() for shift in (0, 1, 2))
    assert (seen[:, late].sum(-1) == 1 + 3 + 2).all()
    assert not torch.equal(seen[0], seen[1])


def test_when_causal_random_blocks_lie_in_the_whole_past():
    options = {"block": 1, "window": 1, "global_blocks": 0, "random": 1}
    seen = (matrix(make("bigbird", options, causal=True), *tokens(128))[0] > 0).double()
    drawn = (seen.tril(-1)[:, 1:] @ torch.arange(128.0).double() + 0.5) / torch.arange(1, 128)
    # uniform over (0, 1): the mean of 254 draws lies within four standard errors of a half
    assert abs(drawn.mean() - 0.5) < 4 * (1 / 12 / 254) ** 0.5
    assert drawn[:, 64:].max() > 0.9


def test_when_causal_no_length_changes_what_an_earlier_block_draws():
    options = {"block": 4, "global_blocks": 1, "random": 2}
    short, long = (make("bigbird", options, causal=True, max_length=n) for n in (100, 400))
    assert torch.equal(short.draws, long.draws[:, :25])
    x, mask = tokens(100, 61)
    other = matrix(long, x[:, :61], mask[:, :61]) > 0
    assert torch.equal(matrix(short, x, mask)[0, :, :61, :61] > 0, other[0])


@pytest.mark.parametrize("length", [63, 64, 65, 1000])
def test_when_causal_the_default_blocks_equal_the_definition_at_any_length(length):
    mixer = make("bigbird", {}, causal=True, max_length=1000)
    x, mask = tokens(length, length // 2 + 1)
    options = mixer.options_type()
    expected = bigbird.definition(x, mask, mixer.state_dict(), mixer.place, options)
    torch.testing.assert_close(mixer(x, mask)[mask], expected[mask])


def test_when_causal_extra_global_tokens_are_refused():
    with pytest.raises(UserError, match=r"2 extra global tokens .* leave out etc"):
        make("bigbird", {"etc": 2}, causal=True)

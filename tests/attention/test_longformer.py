import pytest
import torch
from attention.cases import make, tokens
from attention.definitions import longformer, transformer

from longarena.attention import build, matrix
from longarena.errors import UserError


@pytest.mark.parametrize("window", [122, 1000])
def test_a_window_of_twice_the_length_is_full_attention(window):
    mixer = make("longformer", {"window": window, "global_tokens": 0})
    x, mask = tokens(61, 40)
    expected = transformer.definition(x, mask, mixer.state_dict(), mixer.place, None)
    torch.testing.assert_close(mixer(x, mask)[mask], expected[mask])


def test_global_tokens_see_all_and_are_seen_by_all():
    weights = matrix(make("longformer", {"window": 4, "global_tokens": 2}), *tokens(32))[0]
    position = torch.arange(32)
    seen = (position[:, None] - position).abs() <= 2
    seen[:2], seen[:, :2] = True, True
    assert torch.equal(weights > 0, seen.expand_as(weights))
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 32, dtype=weights.dtype))


def test_a_dilated_head_skips_and_its_neighbour_does_not():
    options = {"window": 4, "dilation": (3, 1), "global_tokens": 0}
    dilated, plain = matrix(make("longformer", options), *tokens(32))[0] > 0
    distance = (torch.arange(32)[:, None] - torch.arange(32)).abs()
    assert torch.equal(dilated, (distance % 3 == 0) & (distance <= 6))
    assert torch.equal(plain, distance <= 2)


@pytest.mark.parametrize("length", [63, 64, 65, 1000])
def test_the_default_window_equals_the_definition_at_any_length(length):
    mixer = make("longformer", {}, max_length=1000)
    x, mask = tokens(length, length // 2 + 1)
    options = mixer.options_type()
    expected = longformer.definition(x, mask, mixer.state_dict(), mixer.place, options)
    torch.testing.assert_close(mixer(x, mask)[mask], expected[mask])


def test_windows_grow_and_heads_dilate_from_layer_to_layer():
    options = {"window": [4, 8], "dilation": [1, [1, 2]]}
    lower, upper = (
        build(
            "longformer",
            width=16,
            num_heads=2,
            max_length=64,
            layer=layer,
            depth=2,
            options=options,
        )
        for layer in (0, 1)
    )
    assert (lower.options.window, lower.dilations) == (4, (1, 1))
    assert (upper.options.window, upper.dilations) == (8, (1, 2))


def test_the_encoder_is_asked_for_the_global_tokens():
    assert make("longformer", {}).num_global_tokens == 1
    assert make("longformer", {"global_tokens": 0}).num_global_tokens == 0


def test_without_global_tokens_there_are_no_projections_for_them():
    assert not any("global" in key for key in make("longformer", {"global_tokens": 0}).state_dict())


def test_dilations_for_another_number_of_heads_are_refused():
    with pytest.raises(UserError, match="dilation lists 3 entries for 2 heads"):
        make("longformer", {"dilation": (1, 2, 3)})


def test_when_causal_only_the_window_before_a_token_is_seen():
    options = {"window": 4, "dilation": (3, 1), "global_tokens": 2}
    dilated, plain = matrix(make("longformer", options, causal=True), *tokens(32))[0] > 0
    back = torch.arange(32)[:, None] - torch.arange(32)
    assert torch.equal(dilated, (back % 3 == 0) & (back >= 0) & (back <= 6))
    assert torch.equal(plain, (back >= 0) & (back <= 2))


def test_when_causal_no_token_is_global():
    mixer = make("longformer", {"global_tokens": 2}, causal=True)
    assert mixer.num_global_tokens == 0
    assert not any("global" in key for key in mixer.state_dict())


def test_when_causal_a_window_of_twice_the_length_is_full_attention():
    mixer = make("longformer", {"window": 122}, causal=True)
    x, mask = tokens(61, 40)
    expected = transformer.definition(x, mask, mixer.state_dict(), mixer.place, None)
    torch.testing.assert_close(mixer(x, mask)[mask], expected[mask])

import pytest
import torch
from attention.cases import make, tokens
from attention.definitions import local, transformer

from longarena.attention import matrix


@pytest.mark.parametrize("options", [{"block": 61}, {"block": 500}, {"block": 8, "neighbours": 7}])
@pytest.mark.parametrize("causal", [False, True])
def test_what_reaches_everything_is_full_attention(options, causal):
    mixer = make("local", options, causal=causal)
    x, mask = tokens(61, 40)
    expected = transformer.definition(x, mask, mixer.state_dict(), mixer.place, None)
    torch.testing.assert_close(mixer(x, mask)[mask], expected[mask])


def test_blocks_are_contiguous():
    mixer = make("local", {"block": 4})
    weights = matrix(mixer, *tokens(12))[0, 0]
    assert torch.equal(weights > 0, torch.block_diag(*torch.ones(3, 4, 4)) > 0)


@pytest.mark.parametrize("length", [63, 64, 65, 1000])
def test_the_default_blocks_equal_the_definition_at_any_length(length):
    mixer = make("local", {}, max_length=1000)
    x, mask = tokens(length, length // 2 + 1)
    options = mixer.options_type()
    expected = local.definition(x, mask, mixer.state_dict(), mixer.place, options)
    torch.testing.assert_close(mixer(x, mask)[mask], expected[mask])

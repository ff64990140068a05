import pytest
import torch
from attention.cases import make, tokens

from longarena.attention import build
from longarena.attention.transformer import softmax_attention
from longarena.errors import UserError

SIZES = {"width": 16, "num_heads": 2, "max_length": 64, "depth": 2}


def layers(*options):
    """Two layers, the upper one above the lower."""
    lower = build("linformer", layer=0, options=options[0], **SIZES)
    return lower, build("linformer", layer=1, options=options[-1], previous=lower, **SIZES)


def num_parameters(*mixers):
    return sum(p.numel() for p in torch.nn.ModuleList(mixers).parameters())


def test_with_identity_projections_it_is_softmax():
    mixer = make("linformer", {"k": 64, "sharing": "headwise"}, max_length=64)
    for compression in mixer.owned:
        torch.nn.init.eye_(compression.weight.data[0])
    x, mask = tokens(64, 64)
    q, k, v = (mixer.split(project(x)) for project in (mixer.query, mixer.key, mixer.value))
    expected = softmax_attention(q, k, v, mask)
    torch.testing.assert_close(mixer.apply(mixer.plan(x, mask), v), expected)
    y = mixer.output(expected.transpose(1, 2).flatten(2))
    torch.testing.assert_close(mixer(x, mask), y)


@pytest.mark.parametrize("projection", ["mean-pool", "conv"])
def test_with_windows_of_one_token_it_is_softmax(projection):
    mixer = make("linformer", {"k": 64, "projection": projection}, max_length=64)
    x, mask = tokens(64, 40)
    q, k, v = (mixer.split(project(x)) for project in (mixer.query, mixer.key, mixer.value))
    expected = softmax_attention(q, k, v, mask).transpose(1, 2)[mask]
    y = mixer.apply(mixer.plan(x, mask), v).transpose(1, 2)[mask]
    torch.testing.assert_close(y, expected)


@pytest.mark.parametrize(
    ("sharing", "num_matrices"),
    [("none", 2 * 2 * 2), ("headwise", 2 * 2), ("key-value", 2), ("layerwise", 1)],
)
def test_sharing_counts_each_matrix_once(sharing, num_matrices):
    both = layers({"k": 8, "sharing": sharing})
    assert num_parameters(*both) == 2 * 4 * 16 * 16 + num_matrices * 64 * 8


def test_layers_that_share_train_and_save_one_matrix():
    lower, upper = layers({"k": 8, "sharing": "layerwise"})
    assert "owned.0.weight" in lower.state_dict()
    assert not any(key.startswith("owned") for key in upper.state_dict())
    upper(*(t.float() if t.is_floating_point() else t for t in tokens(61))).sum().backward()
    assert lower.owned[0].weight.grad.abs().sum() > 0


def test_layers_that_share_stay_one_when_loaded_and_converted():
    source, target = (torch.nn.ModuleList(layers({"k": 8, "sharing": "layerwise"})) for _ in "ab")
    torch.nn.init.ones_(source[0].owned[0].weight)
    target.load_state_dict(source.state_dict())
    target.double()
    x, mask = tokens(61)
    torch.testing.assert_close(target[1](x, mask), source.double()[1](x, mask))
    assert target[1].compress_keys_and_values[0].weight is target[0].owned[0].weight


def test_layers_of_other_options_cannot_share():
    with pytest.raises(UserError, match="same options in every layer"):
        layers({"k": 8, "sharing": "layerwise"}, {"k": 4, "sharing": "layerwise"})

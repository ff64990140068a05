import pytest
import torch
from attention.cases import make, tokens

from longarena.attention import build
from longarena.attention.ops.convolution import BLOCK, convolve
from longarena.errors import UserError
from longarena.measure.work import Shape, byte_signature
from longarena.tracks.classification import Classification

SIZES = {"width": 64, "num_heads": 4, "max_length": 64}


def test_the_first_channels_are_attention_alone():
    mixer = make("lite-transformer", {"kernel": 5})
    x, mask = tokens(61, 40)
    expected = mixer.attention(x[..., :8], mask)
    torch.testing.assert_close(mixer(x, mask)[..., :8][mask], expected[mask])


def test_the_other_channels_see_no_further_than_the_kernel():
    mixer = make("lite-transformer", {"kernel": 5})
    x, mask = tokens(61)
    changed = x.clone()
    changed[:, 30] += 1.0
    moved = (mixer(x, mask) != mixer(changed, mask))[0, :, 8:].any(dim=-1)
    assert moved.nonzero().flatten().tolist() == [28, 29, 30, 31, 32]


def test_when_causal_the_kernel_ends_at_its_token():
    mixer = make("lite-transformer", {"kernel": 5}, causal=True)
    x, mask = tokens(61)
    changed = x.clone()
    changed[:, 30] += 1.0
    moved = (mixer(x, mask) != mixer(changed, mask))[0]
    assert moved[:, 8:].any(dim=-1).nonzero().flatten().tolist() == [30, 31, 32, 33, 34]
    assert moved[:, :8].any(dim=-1).nonzero().flatten().tolist() == list(range(30, 61))


def test_a_kernel_of_one_token_leaves_the_gated_unit():
    mixer = make("lite-transformer", {"kernel": 1})
    x, mask = tokens(61)
    convolution = mixer.convolution
    gated = torch.nn.functional.glu(convolution.input(x[..., 8:]))
    torch.testing.assert_close(mixer(x, mask)[..., 8:], convolution.output(gated))


def test_a_prediction_of_nothing_averages_the_neighbours():
    mixer = make("lite-transformer", {"kernel": 3, "dynamic": True})
    torch.nn.init.zeros_(mixer.convolution.kernel.predict.weight)
    x, mask = tokens(61)
    gated = torch.nn.functional.glu(mixer.convolution.input(x[..., 8:]))
    mean = (gated[:, :-2] + gated[:, 1:-1] + gated[:, 2:]) / 3
    torch.testing.assert_close(mixer(x, mask)[:, 1:-1, 8:], mixer.convolution.output(mean))


@pytest.mark.parametrize("length", [1, BLOCK - 1, BLOCK, BLOCK + 1, 100])
@pytest.mark.parametrize("size", [1, 3, 31, 63])
def test_convolving_is_what_conv1d_does(length, size):
    x = torch.randn(2, length, 6, dtype=torch.float64)
    kernels = torch.randn(3, size, dtype=torch.float64)
    expected = torch.nn.functional.conv1d(
        x.mT, kernels.repeat_interleave(2, dim=0)[:, None], padding=size // 2, groups=6
    )
    torch.testing.assert_close(convolve(x, kernels[None, None]), expected.mT)


def test_kernels_grow_with_the_layer():
    layers = [build("lite-transformer", layer=layer, depth=6, **SIZES) for layer in range(6)]
    sizes = [mixer.convolution.kernel.weight.shape[1] for mixer in layers]
    assert sizes == [3, 7, 15, 31, 31, 31]


def test_a_list_gives_each_layer_its_kernel():
    options = {"kernel": [9, 5]}
    upper = build("lite-transformer", layer=1, depth=2, options=options, **SIZES)
    assert upper.convolution.kernel.weight.shape == (2, 5)


def test_heads_keep_their_size_and_the_width_is_used_up():
    mixer = build("lite-transformer", options={"split": 0.25}, **SIZES)
    assert mixer.attention.place.head_size == 16
    assert mixer.attention.place.num_heads == 1
    assert mixer.convolution.kernel.weight.shape[0] == 3
    assert mixer.widths == [16, 48]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kernel": 4}, "choose an odd number, as 5"),
        ({"kernel": -3}, "odd number"),
        ({"split": 0.001}, "choose another split"),
        ({"split": 0.55}, "35 channels to 2 heads"),
        ({"split": 1.0}, "split = 1.0"),
    ],
)
def test_what_cannot_be_honoured_is_refused(options, message):
    with pytest.raises(UserError, match=message):
        build("lite-transformer", options=options, **SIZES)


def test_a_qkv_width_that_the_heads_cannot_share_is_refused():
    sizes = {"width": 64, "qkv_width": 24, "num_heads": 4, "max_length": 64}
    with pytest.raises(UserError, match="of qkv_width 24 gives 15 channels to 2 heads"):
        build("lite-transformer", options={"split": 0.625}, **sizes)


@pytest.mark.parametrize(
    ("options", "asked", "width"),
    [({}, 256, 64), ({}, 32, 32), ({"flat": False}, 256, 256)],
    ids=["flat", "narrower than flat", "as the recipe says"],
)
def test_the_feed_forward_behind_it_is_no_wider_than_the_model(options, asked, width):
    shape = Shape(width=64, depth=2, num_heads=4, mlp_width=asked)
    config = shape.with_mixer("lite-transformer", options)
    layers = Classification().build(config, byte_signature(64), seed=0).backbone.encoder.layers
    assert [layer.mlp[0].out_features for layer in layers] == [width, width]

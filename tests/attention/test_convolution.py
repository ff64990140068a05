import pytest
import torch
from attention.cases import make, tokens

from longarena.attention import build
from longarena.errors import UserError
from longarena.measure.work import Shape, byte_signature
from longarena.tracks.classification import Classification

SIZES = {"width": 16, "num_heads": 2, "max_length": 64}


def reached(mix):
    """Which of 61 positions hear of a change of token 30."""
    x, mask = tokens(61)
    changed = x.clone()
    changed[:, 30, 0] += 1.0
    return (mix(x, mask) != mix(changed, mask))[0].any(dim=-1).nonzero().flatten().tolist()


@pytest.mark.parametrize(
    ("causal", "expected"),
    [(False, [28, 29, 30, 31, 32]), (True, [30, 31, 32, 33, 34])],
    ids=["both ways", "causal"],
)
def test_a_token_is_seen_as_far_as_the_kernel_reaches(causal, expected):
    assert reached(make("convolution", {"kernel": 5}, causal=causal)) == expected


def test_depth_layers_have_a_field_of_depth_times_the_kernel():
    config = Shape(width=16, depth=3, num_heads=2, mlp_width=16)
    config = config.with_mixer("convolution", {"kernel": 5})
    model = Classification().build(config, byte_signature(64), seed=0).double().eval()
    assert reached(model.backbone.encoder) == list(range(30 - 6, 30 + 6 + 1))


def test_a_kernel_of_one_token_scales_the_gated_unit():
    mixer = make("convolution", {"kernel": 1})
    x, mask = tokens(61)
    gated = torch.nn.functional.glu(mixer.input(x))
    torch.testing.assert_close(mixer(x, mask), mixer.output(gated * mixer.kernel[:, 0]))


def test_a_list_gives_each_layer_its_kernel():
    options = {"kernel": [9, 5]}
    upper = build("convolution", layer=1, depth=2, options=options, **SIZES)
    assert upper.kernel.shape == (16, 5)


@pytest.mark.parametrize("kernel", [0, 4, -3])
def test_a_kernel_without_a_centre_is_refused(kernel):
    with pytest.raises(UserError, match="choose an odd number"):
        build("convolution", options={"kernel": kernel}, **SIZES)

import pytest
import torch

from longarena.attention import MIXERS
from longarena.findings.receptive_field import DEFAULTS, receptive_field
from longarena.measure.work import Shape, byte_signature
from longarena.tracks.classification import Classification

SHAPE = Shape(width=8, depth=2, num_heads=2, mlp_width=8)
LENGTH = 64


def reached(config):
    """How many tokens hear of a change of one in the middle of the second block of 16."""
    model = Classification().build(config, byte_signature(LENGTH), seed=0).double().eval()
    x = torch.randn(1, LENGTH, 8, dtype=torch.float64)
    changed = x.clone()
    changed[:, 24, 0] += 1.0
    mask = torch.ones(1, LENGTH, dtype=torch.bool)
    encoder = model.backbone.encoder
    return int((encoder(x, mask) != encoder(changed, mask)).any(dim=-1).sum())


@pytest.mark.parametrize(
    ("mixer", "options", "field"),
    [
        ("convolution", {"kernel": 7}, 13),
        ("convolution", {"kernel": [3, 9]}, 11),
        ("longformer", {"window": 6, "global_tokens": 0}, 13),
        ("longformer", {"window": [5, 2], "global_tokens": 0}, 7),
        ("local", {"block": 16}, 16),
    ],
)
def test_a_token_is_heard_by_as_many_as_it_can_know_of(mixer, options, field):
    config = SHAPE.with_mixer(mixer, options)
    assert receptive_field(config) == reached(config) == field


@pytest.mark.parametrize(
    ("mixer", "options"),
    [
        ("transformer", {}),
        ("longformer", {}),
        ("longformer", {"global_tokens": 0, "dilation": 2}),
        ("local", {"neighbours": 1}),
        ("local", {"block": [4, 6]}),
        ("mine:Own", {"kernel": 3}),
    ],
)
def test_where_there_is_no_one_number_there_is_none(mixer, options):
    config = SHAPE.with_mixer("transformer", {})
    assert receptive_field(config.model_copy(update={"mixer": mixer, "options": options})) is None


@pytest.mark.parametrize("mixer", DEFAULTS)
def test_the_defaults_are_those_of_the_mechanisms(mixer):
    defaults = MIXERS[mixer].options_type().model_dump()
    assert DEFAULTS[mixer].items() <= defaults.items()

import pytest
import torch
from model.cases import classifier, gradients, ids, peak_bytes, signature

from longarena.attention.linear import LinearAttention
from longarena.errors import UserError
from longarena.measure.cost import count_cost
from longarena.measure.work import Shape, byte_signature, prepare
from longarena.model.encoder import FeedForward
from longarena.model.model import num_parameters

pytestmark = pytest.mark.shapes


@pytest.mark.parametrize("chunks", [3, 500])
def test_an_mlp_in_chunks_gives_the_same_numbers(chunks):
    expected = gradients(classifier("linear").double(), ids(61, 40))
    found = gradients(classifier("linear", mlp_chunks=chunks).double(), ids(61, 40))
    assert found.keys() == expected.keys()
    for key, gradient in expected.items():
        torch.testing.assert_close(found[key], gradient, msg=key)


def test_an_mlp_in_chunks_drops_the_same_units_when_it_is_computed_again():
    mlp = FeedForward(4, 6, dropout=0.5, chunks=2).double()
    x = torch.randn(1, 5, 4, dtype=torch.float64, requires_grad=True)

    def run(x):
        torch.manual_seed(0)
        return mlp(x)

    assert torch.autograd.gradcheck(run, x)


def test_an_mlp_in_chunks_takes_less_memory():
    sizes = {"task": signature(max_length=512), "mlp_width": 256}
    whole, pieces = (classifier("linear", mlp_chunks=chunks, **sizes) for chunks in (1, 8))
    assert peak_bytes(pieces, ids(*[512] * 4)) < 0.5 * peak_bytes(whole, ids(*[512] * 4))


def test_chunks_and_reversible_layers_go_together():
    expected = gradients(classifier("linear", reversible=True).double(), ids(61))
    model = classifier("linear", reversible=True, mlp_chunks=3).double()
    for key, gradient in gradients(model, ids(61)).items():
        torch.testing.assert_close(gradient, expected[key], msg=key)


class Sufficient(LinearAttention):
    """Wants no feed-forward behind it."""

    def mlp_width(self, asked):
        return 0


OWN = "model.test_encoder:Sufficient"


@pytest.mark.parametrize(("mixer", "mlp_width"), [("linear", 0), (OWN, 32)])
def test_recipe_and_mixer_can_do_without_a_feed_forward(mixer, mlp_width):
    plain, without = classifier("linear"), classifier(mixer, mlp_width=mlp_width)
    names = {name for name, _ in without.backbone.named_parameters()}
    assert names == {name for name, _ in plain.backbone.named_parameters() if ".mlp" not in name}
    assert all(gradient.isfinite().all() for gradient in gradients(without, ids(61, 40)).values())


def test_a_layer_without_a_feed_forward_is_norm_and_mixer():
    model = classifier("linear", mlp_width=0, depth=1).eval()
    [layer] = model.backbone.encoder.layers
    x, mask = torch.randn(2, 9, 16), torch.ones(2, 9, dtype=torch.bool)
    torch.testing.assert_close(layer(x, mask), x + layer.mixer(layer.mixer_norm(x, mask), mask))


def test_without_a_feed_forward_the_head_is_as_wide_as_the_tokens():
    head = classifier("linear", mlp_width=0).head
    assert num_parameters(head) == 16 * 16 + 16 + 16 * 4 + 4


@pytest.mark.parametrize(("mixer", "mlp_width"), [("linear", 0), (OWN, 32)])
def test_a_feed_forward_that_is_not_there_costs_nothing(mixer, mlp_width):
    shape = Shape(width=16, depth=2, num_heads=2, mlp_width=mlp_width)
    cost = count_cost(prepare(shape.with_mixer(mixer, {}), byte_signature(64), 2))
    assert cost.feed_forward == 0
    assert cost.attention > 0
    assert cost.head_and_embedding == (16 * (mlp_width or 16) + 2 * (mlp_width or 16)) / 64


@pytest.mark.parametrize(("mixer", "mlp_width"), [("linear", 0), (OWN, 32)])
def test_reversible_layers_want_their_second_half(mixer, mlp_width):
    with pytest.raises(UserError, match=r"need a feed-forward.*; use reversible=false"):
        classifier(mixer, mlp_width=mlp_width, reversible=True)

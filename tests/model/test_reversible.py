import pytest
import torch
from attention import definitions
from attention.cases import make
from model.cases import classifier, gradients, ids, peak_bytes, signature
from representatives import mark_others

from longarena.attention import MIXERS
from longarena.attention.base import Mixer
from longarena.attention.reformer import hash_tokens
from longarena.errors import UserError


def two_streams(encoder, x, mask):
    """The same function as an ordinary graph, which keeps every activation."""
    first = second = x
    for layer in encoder.layers:
        first = first + layer.mix(second, mask)
        second = second + layer.feed(first, mask)
    return encoder.norm((first + second) / 2, mask)


def ordinary(model):
    model.backbone.encoder.forward = lambda x, mask: two_streams(model.backbone.encoder, x, mask)
    return model


WITH_LOSS = [name for name in MIXERS if MIXERS[name].extra_loss is not Mixer.extra_loss]


@pytest.mark.parametrize("dropout", [0.3, pytest.param(0.0, marks=pytest.mark.everywhere)])
@pytest.mark.parametrize("name", [name for name in MIXERS if name not in WITH_LOSS])
def test_gradients_equal_those_of_the_ordinary_two_streams(name, dropout):
    changes = {"options": definitions.of(name).SMALL, "dropout": dropout, "depth": 2}
    if not make(name, changes["options"]).mlp_width(16):
        pytest.skip(f"{name} has no feed-forward after it: it has no second half")
    reversible = classifier(name, reversible=True, **changes).double()
    expected = gradients(ordinary(classifier(name, **changes).double()), ids(61, 40))
    found = gradients(reversible, ids(61, 40))
    assert found.keys() == expected.keys()
    for key, gradient in expected.items():
        torch.testing.assert_close(found[key], gradient, atol=1e-10, rtol=1e-8, msg=key)


@pytest.mark.parametrize("name", mark_others(["transformer", "reformer", "sinkhorn"], ["reformer"]))
def test_in_single_precision_they_are_equal_to_rounding(name):
    sizes = {"task": signature(max_length=1024), "depth": 6, "width": 32}
    expected = gradients(ordinary(classifier(name, **sizes)), ids(*[1024] * 4))
    found = gradients(classifier(name, reversible=True, **sizes), ids(*[1024] * 4))
    for key, gradient in expected.items():
        scale = gradient.abs().max()
        assert (found[key] - gradient).abs().max() <= 1e-5 * max(1.0, scale), key


def test_memory_does_not_grow_with_depth():
    sequences = ids(*[512] * 4)

    def activation_bytes(depth, reversible):
        model = classifier("linear", signature(max_length=512), depth=depth, reversible=reversible)
        return peak_bytes(model, sequences) - sum(8 * p.nbytes for p in model.parameters())

    assert activation_bytes(8, True) < 1.05 * activation_bytes(2, True)
    assert activation_bytes(8, False) > 2.5 * activation_bytes(2, False)


def test_a_reversible_encoder_has_the_parameters_of_an_ordinary_one():
    plain, reversible = (classifier("linear", reversible=choice) for choice in (False, True))
    expected, found = plain.state_dict(), reversible.state_dict()
    assert expected.keys() == found.keys()
    assert all(torch.equal(expected[key], found[key]) for key in expected)


def test_in_eval_mode_nothing_is_drawn():
    model = classifier("linear", reversible=True, dropout=0.5).eval()
    with torch.no_grad():
        assert torch.equal(model(ids(61)), model(ids(61)))


def test_the_random_stream_goes_on_as_if_nothing_were_computed_twice():
    model = classifier("linear", reversible=True, dropout=0.5)
    torch.manual_seed(0)
    y = model(ids(61)).sum()
    before = torch.get_rng_state()
    y.backward()
    assert torch.equal(torch.get_rng_state(), before)


class LossOfItsOwn(Mixer):
    def forward(self, x, mask):
        return x

    def extra_loss(self):
        return torch.zeros(())


class Fickle(Mixer):
    """Chooses anew at every call, unless it is held to its choice."""

    def __init__(self, place, options, previous=None):
        super().__init__(place, options, previous)
        self.scale = torch.nn.Parameter(torch.ones(()))
        self.calls = 0

    def forward(self, x, mask):
        return x * self.scale * self.choose(self.make)

    def make(self):
        self.calls += 1
        return torch.tensor(float(self.calls))


def test_a_discrete_choice_is_made_once():
    name = "model.test_reversible:Fickle"
    reversible = classifier(name, reversible=True).double()
    expected = gradients(ordinary(classifier(name).double()), ids(61))
    for key, gradient in gradients(reversible, ids(61)).items():
        torch.testing.assert_close(gradient, expected[key], msg=key)
    assert [mixer.calls for mixer in reversible.backbone.encoder.mixers()] == [1, 1, 1]
    assert all(mixer.choices is None for mixer in reversible.backbone.encoder.mixers())


def test_reformer_hashes_once(monkeypatch):
    calls = []

    def counted(*given):
        calls.append(given)
        return hash_tokens(*given)

    monkeypatch.setattr("longarena.attention.reformer.hash_tokens", counted)
    gradients(classifier("reformer", reversible=True, depth=3), ids(61))
    assert len(calls) == 3


def test_a_mixer_with_a_loss_of_its_own_is_refused():
    with pytest.raises(UserError, match="reversible=false"):
        classifier("model.test_reversible:LossOfItsOwn", reversible=True)

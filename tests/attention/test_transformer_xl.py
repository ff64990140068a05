import pytest
import torch
from attention.cases import make, tokens
from attention.definitions import transformer_xl
from attention.definitions.pieces import masked_softmax, merge, no_later, projected
from torch.multiprocessing.reductions import StorageWeakRef

from longarena.attention import matrix
from longarena.attention.ops import segments
from longarena.attention.ops.detached_projection import project_detached


@pytest.mark.parametrize("options", [{"segment": 61}, {"segment": 100, "memory": 7}])
@pytest.mark.parametrize("causal", [False, True])
def test_one_segment_is_relative_position_attention(options, causal):
    mixer = make("transformer-xl", options, causal=causal)
    x, mask = tokens(61, 40)
    weights = mixer.state_dict()
    q, k, v = projected(x, weights, mixer.place)
    allowed = no_later(mask[:, None, None, :], causal)
    seen = masked_softmax(transformer_xl.logits_of(q, k, weights, mixer.place), allowed)
    expected = merge(seen @ v, weights["output.weight"])
    torch.testing.assert_close(mixer(x, mask)[mask], expected[mask])


def test_a_segment_sees_itself_and_what_it_remembers():
    seen = matrix(make("transformer-xl", {"segment": 4, "memory": 3}), *tokens(12))[0, 0] > 0
    assert torch.equal(seen[1].nonzero()[:, 0], torch.arange(0, 4))
    assert torch.equal(seen[9].nonzero()[:, 0], torch.arange(5, 12))


def test_no_gradient_reaches_remembered_states():
    mixer = make("transformer-xl", {"segment": 8, "memory": 8})
    x, mask = tokens(16)
    x.requires_grad_()
    mixer(x, mask)[:, 8:].square().sum().backward()
    assert (x.grad[:, :8] == 0).all()
    assert (x.grad[:, 8:] != 0).all()


def test_no_gradient_reaches_remembered_values_through_a_plan():
    mixer = make("transformer-xl", {"segment": 8, "memory": 8})
    x, mask = tokens(16)
    v = torch.randn(1, 2, 16, 8, dtype=x.dtype, requires_grad=True)
    mixer.apply(mixer.plan(x, mask), v)[:, :, 8:].square().sum().backward()
    assert (v.grad[:, :, :8] == 0).all()
    assert (v.grad[:, :, 8:] != 0).all()


def test_what_is_remembered_trains_the_projection_alone():
    linear = torch.nn.Linear(4, 3, bias=False).double()
    x = torch.randn(2, 5, 4, dtype=torch.float64, requires_grad=True)
    own, old = torch.randn(2, 2, 5, 3, dtype=torch.float64)
    first, second = project_detached(linear, x)
    got = torch.autograd.grad((first * own + second * old).sum(), (x, linear.weight))
    expected = torch.autograd.grad(
        (linear(x) * own + linear(x.detach()) * old).sum(), (x, linear.weight)
    )
    assert torch.equal(first, second)
    torch.testing.assert_close(got, expected)


def test_biases_for_tokens_and_distances_matter():
    mixer = make("transformer-xl", {"segment": 8, "memory": 8})
    for parameter in (mixer.positions.token_bias, mixer.positions.distance_bias):
        torch.nn.init.normal_(parameter)
    x, mask = tokens(61, 40)
    weights = mixer.state_dict()
    expected = transformer_xl.definition(x, mask, weights, mixer.place, mixer.options)
    torch.testing.assert_close(mixer(x, mask)[mask], expected[mask])


def test_only_distances_count_not_positions():
    mixer = make("transformer-xl", {"segment": 8, "memory": 8})
    x, mask = tokens(40)
    late = mixer(x, mask)[:, 24:]
    torch.testing.assert_close(mixer(x[:, 16:], mask[:, 16:])[:, 8:], late)


def test_order_counts_inside_of_a_segment():
    mixer = make("transformer-xl", {"segment": 8, "memory": 0})
    x, mask = tokens(8)
    assert not torch.allclose(mixer(x.flip(1), mask).flip(1), mixer(x, mask))


@pytest.mark.parametrize("length", [127, 128, 129, 700])
def test_the_default_segments_equal_the_definition_at_any_length(length):
    mixer = make("transformer-xl", {}, max_length=700)
    x, mask = tokens(length, length // 2 + 1)
    weights = mixer.state_dict()
    expected = transformer_xl.definition(x, mask, weights, mixer.place, mixer.options)
    torch.testing.assert_close(mixer(x, mask)[mask], expected[mask])


def test_gathered_states_are_not_kept_for_the_backward_pass(monkeypatch):
    made, join = [], segments.join_spans

    def watched(*args):
        found = join(*args)
        made.append(StorageWeakRef(found.untyped_storage()))
        return found

    monkeypatch.setattr(segments, "join_spans", watched)
    y = make("transformer-xl", {"segment": 8, "memory": 8})(*tokens(61, 40))
    assert [one.expired() for one in made] == [True] * 3  # keys, values, queries
    y.sum().backward()
    assert len(made) == 5

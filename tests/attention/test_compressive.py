import math

import pytest
import torch
from attention.cases import make, tokens
from attention.definitions import compressive
from attention.definitions.pieces import heads

from longarena.attention import matrix
from longarena.errors import UserError

SMALL = {"segment": 8, "memory": 8, "compressed": 4, "rate": 4}
EVERY_COMPRESSION = ["conv", "mean", "max", "most-used"]


def trained(options=SMALL):
    """A mixer in training mode whose compression is no longer the mean that it starts as."""
    mixer = make("compressive", options).train()
    torch.nn.init.normal_(mixer.convolution.weight, std=0.2)
    return mixer


@pytest.mark.parametrize("compression", EVERY_COMPRESSION)
def test_a_rate_of_one_is_a_longer_memory(compression):
    options = {"segment": 8, "memory": 8, "compressed": 11, "rate": 1, "compression": compression}
    mixer = make("compressive", options)
    longer = make("transformer-xl", {"segment": 8, "memory": 19}, seed=1)
    shared = {key: mixer.state_dict()[key] for key in longer.state_dict()}
    longer.load_state_dict(shared)
    x, mask = tokens(61, 40)
    direction = torch.randn_like(x)[mask]
    results = []
    for one in (mixer, longer):
        here = x.clone().requires_grad_()
        y = one(here, mask)[mask]
        (y * direction).sum().backward()
        results.append([y, here.grad[mask], one.query.weight.grad, one.key.weight.grad])
    torch.testing.assert_close(results[0], results[1])


def test_slots_stand_before_the_memory_and_hold_several_positions():
    options = {**SMALL, "compressed": 2, "compression": "mean"}
    weights = matrix(make("compressive", options), *tokens(32))[0, 0]
    assert torch.equal(weights[30].nonzero()[:, 0], torch.arange(8, 32))
    shares = weights[30, 8:16].view(2, 4)
    torch.testing.assert_close(shares, shares[:, :1].expand(2, 4))


def test_the_most_used_states_are_kept_whole():
    options = {**SMALL, "compressed": 2, "compression": "most-used"}
    seen = matrix(make("compressive", options), *tokens(32))[0] > 0
    assert (seen[:, 24:, 8:16].sum(-1) == 2).all()
    assert (seen[:, 24:, 16:] == 1).all()


def test_the_loss_trains_the_compression_alone():
    mixer = trained()
    x, mask = tokens(61, 40)
    x.requires_grad_()
    mixer(x, mask)
    mixer.extra_loss().backward()
    assert x.grad is None
    with_gradient = [key for key, p in mixer.named_parameters() if p.grad is not None]
    assert with_gradient == ["convolution.weight"]
    assert (mixer.convolution.weight.grad != 0).any()


def test_the_task_does_not_train_the_compression():
    mixer = trained()
    mixer(*tokens(61, 40)).square().sum().backward()
    assert mixer.convolution.weight.grad is None
    assert (mixer.key.weight.grad != 0).any()


def loss_written_out(x, mask, mixer):
    """How far attention to the slots is from attention to the states: a mean over examples."""
    weights, place, options = mixer.state_dict(keep_vars=True), mixer.place, mixer.options
    means = []
    for row, real in zip(x, mask, strict=True):
        squares = [x.new_zeros(())]
        for i in range(options.memory, int(real.sum())):
            first = i // options.segment * options.segment - options.memory
            old = row[None, first : first + options.segment]
            new = old.reshape(1, -1, options.rate * place.width) @ weights["convolution.weight"].T
            q = heads(row[None, i : i + 1], weights["query.weight"], place.num_heads)
            k, v, k_new, v_new = (
                heads(states, weights[f"{name}.weight"], place.num_heads)
                for states in (old, new)
                for name in ("key", "value")
            )
            scale = 1 / math.sqrt(place.head_size)
            wanted = (scale * q @ k.mT).softmax(-1) @ v
            found = (scale * q @ k_new.mT).softmax(-1) @ v_new
            squares.append((wanted - found).square().mean())
        means.append(sum(squares) / max(1, len(squares) - 1))
    return torch.stack(means).mean()


@pytest.mark.parametrize("memory", [8, 16])
@pytest.mark.parametrize("lengths", [(61, 40, 9), (128,), (64, 17)])
def test_the_loss_compares_what_attention_gives(memory, lengths):
    mixer = trained({**SMALL, "memory": memory})
    x, mask = tokens(*lengths)
    mixer(x, mask)
    got, expected = mixer.extra_loss(), loss_written_out(x, mask, mixer)
    torch.testing.assert_close(got, expected)
    weight = mixer.convolution.weight
    torch.testing.assert_close(
        torch.autograd.grad(3 * got, weight), torch.autograd.grad(3 * expected, weight)
    )


def test_padding_does_not_change_the_loss():
    mixer = trained()
    x, mask = tokens(61, 40)
    mixer(x, mask)
    expected = mixer.extra_loss()
    noise = torch.full((2, 64, 16), 7.0, dtype=x.dtype)
    longer = torch.cat([torch.where(mask[..., None], x, 1e3), noise], 1)
    mixer(longer, torch.nn.functional.pad(mask, (0, 64)))
    torch.testing.assert_close(mixer.extra_loss(), expected)


def test_training_on_the_loss_makes_compression_better():
    mixer = make("compressive", SMALL).train()
    x, mask = tokens(61, 40)
    optimiser = torch.optim.Adam([mixer.convolution.weight], lr=0.01)
    losses = []
    for _ in range(30):
        mixer(x, mask)
        losses.append(mixer.extra_loss().item())
        optimiser.zero_grad()
        mixer.extra_loss().backward()
        optimiser.step()
    assert losses[-1] < 0.7 * losses[0]


def test_a_learned_compression_equals_the_definition():
    mixer = trained().eval()
    x, mask = tokens(61, 40)
    expected = compressive.definition(x, mask, mixer.state_dict(), mixer.place, mixer.options)
    torch.testing.assert_close(mixer(x, mask)[mask], expected[mask])


def test_without_anything_to_learn_there_is_no_loss():
    x, mask = tokens(61)
    evaluated = make("compressive", SMALL)
    averaging = make("compressive", {**SMALL, "compression": "mean"}).train()
    for mixer in (evaluated, averaging):
        mixer(x, mask)
        assert mixer.extra_loss() is None


def test_before_anything_leaves_the_memory_the_loss_is_zero():
    mixer = trained()
    mixer(*tokens(8))
    mixer.extra_loss().backward()
    assert mixer.extra_loss() == 0
    assert (mixer.convolution.weight.grad == 0).all()


@pytest.mark.parametrize("length", [255, 256, 257, 700])
def test_the_defaults_equal_the_definition_at_any_length(length):
    mixer = make("compressive", {}, max_length=700)
    x, mask = tokens(length, length // 2 + 1)
    weights = mixer.state_dict()
    expected = compressive.definition(x, mask, weights, mixer.place, mixer.options)
    torch.testing.assert_close(mixer(x, mask)[mask], expected[mask])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"segment": 10, "rate": 4}, "segment 10 is not a multiple of 4; choose 12"),
        ({"segment": 8, "memory": 12}, "memory 12 is not a multiple of 8; choose 16"),
    ],
)
def test_segments_that_do_not_leave_whole_are_refused(options, words):
    with pytest.raises(UserError, match=words):
        make("compressive", options)

"""Norms against their definitions: channel by channel, over the real tokens alone."""

import copy

import pytest
import torch
from model.cases import SIZES, classifier, ids
from torch import nn
from training.runs import small_recipe

from longarena.errors import UserError
from longarena.model.batch_norm import EPSILON as BATCH_EPSILON
from longarena.model.batch_norm import moments_of_real, rescaled
from longarena.model.config import ModelConfig
from longarena.model.norms import BATCH_MOMENTUM, EPSILON, NORMS, BatchNorm
from longarena.options import parse

pytestmark = pytest.mark.shapes

WIDTH = 6
LENGTHS = [9, 4, 1, 0]


def tokens(dtype=torch.float64, mean=0.0):
    """Sequences of some lengths in one batch, and their mask."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(len(LENGTHS), max(LENGTHS), WIDTH, dtype=torch.float64, generator=generator)
    return (x + mean).to(dtype), torch.arange(max(LENGTHS)) < torch.tensor(LENGTHS)[:, None]


def norm_of(kind, dtype=torch.float64):
    """A norm whose parameters are not those that it starts with."""
    torch.manual_seed(1)
    norm = NORMS[kind](WIDTH).to(dtype)
    for parameter in norm.parameters():
        nn.init.normal_(parameter)
    return norm


def define_layer(norm, x, mask):
    centred = x - x.mean(dim=-1, keepdim=True)
    deviation = (centred.square().mean(dim=-1, keepdim=True) + EPSILON).sqrt()
    return centred / deviation * norm.weight + norm.bias


def define_rms(norm, x, mask):
    return x / (x.square().mean(dim=-1, keepdim=True) + EPSILON).sqrt() * norm.weight


def define_batch(norm, x, mask):
    channels = []
    for i in range(WIDTH):
        real = x[..., i][mask]
        centred = x[..., i] - real.mean()
        scale = (real.var(correction=0) + BATCH_EPSILON).sqrt()
        channels.append(centred / scale * norm.weight[i] + norm.bias[i])
    return torch.stack(channels, dim=-1)


DEFINITIONS = {"layer": define_layer, "rms": define_rms, "batch": define_batch}


def outcome(run, norm, x, mask):
    """The output at real tokens, and the gradients of a function of it."""
    norm.zero_grad()
    x = x.detach().requires_grad_()
    y = run(x, mask)[mask]
    (y.sin() * torch.arange(1, WIDTH + 1)).sum().backward()
    return [y.detach(), x.grad[mask], *(p.grad.clone() for p in norm.parameters())]


def assert_alike(found, expected, **tolerance):
    for ours, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(ours, theirs, **tolerance)


def test_every_norm_is_compared_with_its_definition():
    assert DEFINITIONS.keys() == NORMS.keys()


@pytest.mark.parametrize("kind", NORMS)
def test_a_norm_and_its_gradients_are_those_of_its_definition(kind):
    norm, (x, mask) = norm_of(kind), tokens()
    expected = outcome(lambda x, mask: DEFINITIONS[kind](norm, x, mask), norm, x, mask)
    assert_alike(outcome(norm, norm, x, mask), expected, atol=1e-12, rtol=1e-12)


@pytest.mark.parametrize("kind", NORMS)
def test_noise_in_the_padding_changes_nothing(kind):
    norm, (x, mask) = norm_of(kind), tokens()
    noisy = torch.where(mask[..., None], x, 1e6)
    expected = outcome(norm, norm, x, mask)
    assert_alike(outcome(norm, norm, noisy, mask), expected, atol=0, rtol=0)


@pytest.mark.parametrize("kind", NORMS)
def test_more_padding_changes_nothing(kind):
    norm, (x, mask) = norm_of(kind), tokens()
    longer = nn.functional.pad(x, (0, 0, 0, 5), value=7.0), nn.functional.pad(mask, (0, 5))
    assert_alike(outcome(norm, norm, *longer), outcome(norm, norm, x, mask), atol=1e-13, rtol=0)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_on_other_devices_batch_norm_is_the_same(dtype):
    norm, (x, mask) = norm_of("batch", dtype), tokens(dtype, mean=2.0)

    def by_operations(x, mask):
        moments = moments_of_real(x, mask)
        return rescaled(x, moments.mean, moments.variance, norm.weight, norm.bias)

    assert_alike(outcome(norm, norm, x, mask), outcome(by_operations, norm, x, mask))


def test_without_padding_batch_norm_is_that_of_torch():
    ours, theirs = BatchNorm(WIDTH).double(), nn.BatchNorm1d(WIDTH).double()
    assert (theirs.momentum, theirs.eps) == (BATCH_MOMENTUM, BATCH_EPSILON)
    x, mask = torch.randn(3, 5, WIDTH, dtype=torch.float64), torch.ones(3, 5, dtype=torch.bool)
    for scale in (1.0, 3.0):
        expected = outcome(lambda x, _: theirs(x.mT).mT, theirs, scale * x, mask)
        assert_alike(outcome(ours, ours, scale * x, mask), expected)
    torch.testing.assert_close(ours.running_mean, theirs.running_mean)
    torch.testing.assert_close(ours.running_variance, theirs.running_var)
    expected = outcome(lambda x, _: theirs(x.mT).mT, theirs.eval(), x, mask)
    assert_alike(outcome(ours.eval(), ours, x, mask), expected)


def test_running_values_follow_the_real_tokens():
    norm, (x, mask) = norm_of("batch"), tokens(mean=3.0)
    norm(x, mask)
    real = x[mask]
    torch.testing.assert_close(norm.running_mean, 0.1 * real.mean(dim=0))
    torch.testing.assert_close(norm.running_variance, 0.9 + 0.1 * real.var(dim=0))


def test_in_evaluation_running_values_are_used_and_stay():
    norm, (x, mask) = norm_of("batch"), tokens(mean=3.0)
    norm(x, mask)
    before = copy.deepcopy(norm.state_dict())
    alone, batch = norm.eval()(x[:1], mask[:1]), norm(x, mask)
    torch.testing.assert_close(alone, batch[:1], atol=0, rtol=0)
    expected = (x - norm.running_mean) / (norm.running_variance + BATCH_EPSILON).sqrt()
    torch.testing.assert_close(batch, expected * norm.weight + norm.bias)
    assert all(torch.equal(norm.state_dict()[key], before[key]) for key in before)


def test_running_values_are_saved_with_the_model():
    model, other = (classifier("linear", norm="batch", seed=seed) for seed in (0, 1))
    model(ids(61, 40))
    other.load_state_dict(model.state_dict())
    assert torch.equal(other.eval()(ids(30)), model.eval()(ids(30)))
    model.backbone.encoder.norm.running_mean.zero_()
    assert not torch.equal(other(ids(30)), model(ids(30)))


@pytest.mark.parametrize("num_real", [0, 1])
def test_too_few_real_tokens_are_numbers_and_move_nothing(num_real):
    norm, (x, _) = norm_of("batch"), tokens()
    mask = torch.zeros(x.shape[:2], dtype=torch.bool)
    mask[0, :num_real] = True
    x.requires_grad_()
    y = norm(x, mask)
    y.sum().backward()
    assert y.isfinite().all()
    assert x.grad.isfinite().all()
    torch.testing.assert_close(y[mask], norm.bias.expand(num_real, -1))
    assert torch.equal(norm.running_mean, torch.zeros_like(norm.running_mean))
    assert torch.equal(norm.running_variance, torch.ones_like(norm.running_variance))


def test_a_large_mean_costs_no_digits_of_the_variance():
    x, mask = tokens(torch.float32, mean=1e4)
    norm = norm_of("batch", torch.float32)
    expected = define_batch(copy.deepcopy(norm).double(), x.double(), mask)[mask]
    torch.testing.assert_close(norm(x, mask)[mask].double(), expected, atol=2e-3, rtol=0)


def test_half_precision_is_normed_in_single():
    x, mask = tokens(torch.bfloat16, mean=100.0)
    norm = norm_of("batch", torch.float32)
    assert torch.equal(norm(x, mask), copy.deepcopy(norm)(x.float(), mask))


@pytest.mark.parametrize("kind", NORMS)
def test_every_norm_of_a_model_is_the_chosen_one(kind):
    model = classifier("linear", norm=kind)
    found = [module for module in model.modules() if isinstance(module, tuple(NORMS.values()))]
    assert len(found) == 2 * SIZES["depth"] + 1
    assert {type(module) for module in found} == {NORMS[kind]}
    model(ids(61, 40)).square().sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())


@pytest.mark.parametrize("kind", NORMS)
def test_padding_changes_no_answer_of_a_model_that_trains(kind):
    model = classifier("linear", norm=kind).double()
    tokens = ids(61, 40)
    padded = nn.functional.pad(tokens, (0, 64))
    torch.testing.assert_close(model(padded), model(tokens))


@pytest.mark.parametrize("twice", ["reversible", "recompute"])
def test_batch_norm_is_refused_where_layers_are_computed_twice(twice):
    sizes = SIZES | {"mixer": "linear", "norm": "batch", twice: True}
    with pytest.raises(UserError, match=r"moves? its running values twice.*use norm=layer"):
        parse(ModelConfig, sizes, "model")


def test_the_refusal_is_short_in_a_recipe_too():
    with pytest.raises(UserError, match=r"^recipe: model: norm=batch would move"):
        small_recipe("linear", "model.norm=batch", "model.recompute=true")


@pytest.mark.parametrize("twice", ["reversible", "recompute"])
def test_rms_norm_may_be_computed_twice(twice):
    model = classifier("linear", norm="rms", **{twice: True})
    model(ids(61, 40)).square().sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())

import math

import pytest
import torch
from attention.cases import make, tokens

from longarena.attention import build, matrix


def weights(mixer, x, length):
    """Rectified products times the cosine of the distance, normalised: all of it written out."""
    q, k = mixer.queries(x).relu(), mixer.keys(x).relu()
    positions = torch.arange(x.shape[1], dtype=x.dtype)
    distances = positions[:, None] - positions
    products = (q @ k.mT) * torch.cos(math.pi / 2 * distances / length)
    if mixer.place.causal:
        products = products.tril()
    return products / products.sum(dim=-1, keepdim=True).clamp_min(1e-6)


@pytest.mark.parametrize("length", [1, 40, 128])
def test_two_products_make_the_cosine_of_the_distance(length):
    mixer = make("cosformer", {})
    x, mask = tokens(length)
    torch.testing.assert_close(matrix(mixer, x, mask), weights(mixer, x, length))


def test_when_causal_the_cosine_falls_over_the_largest_length():
    mixer = make("cosformer", {}, causal=True, max_length=128)
    x, mask = tokens(100)
    torch.testing.assert_close(matrix(mixer, x, mask), weights(mixer, x, 128))


def test_no_weight_is_negative_and_the_weights_of_a_query_sum_to_one():
    mixer = build("cosformer", width=16, num_heads=2, max_length=1024)
    x, mask = torch.randn(1, 1024, 16), torch.ones(1, 1024, dtype=torch.bool)
    found = matrix(mixer, x, mask)
    assert found.min() >= 0
    alive = mixer.queries(x).relu().sum(dim=-1) > 0
    torch.testing.assert_close(found.sum(dim=-1), alive.float())


def test_a_query_without_a_positive_channel_answers_zero():
    mixer = make("cosformer", {})
    torch.nn.init.constant_(mixer.query.weight, -1.0)
    x, mask = tokens(61)
    x = x.abs().requires_grad_()
    y = mixer(x, mask)
    assert torch.equal(y, torch.zeros_like(y))
    y.sum().backward()
    assert x.grad.isfinite().all()


@pytest.mark.parametrize("scale", [1e-12, 1e6])
def test_the_gradient_is_finite_at_any_scale(scale):
    mixer = build("cosformer", width=16, num_heads=2, max_length=128)
    x = (scale * torch.randn(1, 100, 16)).requires_grad_()
    mixer(x, torch.ones(1, 100, dtype=torch.bool)).sum().backward()
    assert x.grad.isfinite().all()


@pytest.mark.parametrize("causal", [False, True])
def test_single_precision_holds_at_16384_tokens(causal):
    # in a head of 32 channels some are positive: a query near zero would magnify its own rounding
    sizes = {"width": 32, "num_heads": 1, "max_length": 16384, "causal": causal}
    single, double = build("cosformer", **sizes), build("cosformer", **sizes).double()
    # the same tokens always: a channel within rounding of zero is rectified in one precision only
    x = torch.randn(1, 16384, 32, generator=torch.Generator().manual_seed(0))
    mask = torch.ones(1, 16384, dtype=torch.bool)
    y, exact = single(x, mask), double(x.double(), mask)
    assert (y - exact).norm() < 1e-5 * exact.norm()
    y.square().sum().backward()
    exact.square().sum().backward()
    for ours, theirs in zip(single.parameters(), double.parameters(), strict=True):
        assert (ours.grad - theirs.grad).norm() < 1e-5 * theirs.grad.norm()

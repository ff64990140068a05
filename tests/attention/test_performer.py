import math

import numpy as np
import pytest
import torch
from attention.cases import make, tokens

from longarena.attention import build
from longarena.attention.ops.kernel import kernel_attention
from longarena.attention.performer import orthogonal_directions, softmax_features

NUM_FEATURES = [32, 64, 128, 256, 512, 1024, 2048]


def estimation_error(num_features, seed):
    """Mean error of the attention weights for q and k of standard deviation 0.25 at d = 64."""
    rng = torch.Generator().manual_seed(seed)
    q, k = 0.25 * torch.randn(2, 1, 1, 64, 64, generator=rng, dtype=torch.float64)
    mask = torch.ones(1, 64, dtype=torch.bool)
    plan = softmax_features(q, k, orthogonal_directions(num_features, 64, rng), mask)
    unit = torch.eye(64, dtype=torch.float64)[None, None]
    weights = (q @ k.mT / 8).softmax(dim=-1)
    return (kernel_attention(plan, unit) - weights).abs().mean().item()


def test_the_error_falls_like_one_over_the_root_of_the_features():
    errors = [np.mean([estimation_error(m, seed) for seed in range(8)]) for m in NUM_FEATURES]
    exponent, _ = np.polyfit(np.log(NUM_FEATURES), np.log(errors), 1)
    assert exponent == pytest.approx(-0.5, abs=0.05)


def test_the_features_estimate_the_softmax_kernel_without_bias():
    rng = torch.Generator().manual_seed(0)
    q, k = torch.randn(2, 8, generator=rng, dtype=torch.float64) / 2
    draws = torch.cat([orthogonal_directions(8, 8, rng) for _ in range(4000)])
    products = (draws @ q - q @ q / 2).exp() * (draws @ k - k @ k / 2).exp()
    standard_error = products.std().item() / len(products) ** 0.5
    assert products.mean().item() == pytest.approx((q @ k).exp().item(), abs=4 * standard_error)


def test_directions_have_the_lengths_of_normal_vectors():
    directions = orthogonal_directions(2000, 16, torch.Generator().manual_seed(0))
    squares = directions.square().sum(dim=1)
    assert squares.mean().item() == pytest.approx(16, rel=0.05)
    assert squares.std().item() == pytest.approx(32**0.5, rel=0.1)


def test_no_direction_is_preferred():
    rng = torch.Generator().manual_seed(0)
    draws = torch.stack([orthogonal_directions(4, 4, rng) for _ in range(2000)])
    assert draws.mean(dim=0).abs().max().item() < 5 / 2000**0.5


@pytest.mark.parametrize("scale", [1.0, 30.0, 1000.0])
@pytest.mark.parametrize("causal", [False, True])
def test_large_queries_and_keys_stay_finite(scale, causal):
    mixer = make("performer", {}, causal=causal).float()
    x, mask = tokens(61, 40)
    x = (scale * x).float().requires_grad_()
    y = mixer(x, mask)
    y[mask].sum().backward()
    assert y[mask].abs().sum() > 0
    assert y.isfinite().all()
    assert x.grad.isfinite().all()


def test_a_padded_key_does_not_set_the_scale_of_the_real_ones():
    mixer = make("performer", {}).float()
    x, mask = tokens(61, 40)
    x = 30 * x.float()
    # exp(-|k|^2 / 2) is largest by far at a key of zero
    zeros = torch.where(mask[..., None], x, 0.0)
    torch.testing.assert_close(mixer(zeros, mask)[mask], mixer(x, mask)[mask])


@pytest.mark.parametrize("scale", [0.01, 1.0, 10.0, 100.0])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_when_causal_a_later_key_does_not_set_the_scale_of_earlier_ones(scale, dtype):
    mixer = make("performer", {}, causal=True).to(dtype)
    x, mask = tokens(100, 100)
    x = (scale * x).to(dtype)
    # exp(-|k|^2 / 2) is largest by far at a key of zero
    x[1, :70], x[1, 70:] = x[0, :70], 0.0
    x.requires_grad_()
    y = mixer(x, mask)
    assert torch.equal(y[1, :70], y[0, :70])
    y[:, :70].sum().backward()
    assert (x.grad[:, 70:] == 0).all()
    assert x.grad.isfinite().all()


def written_out(mixer, x):
    """Causal attention by the same features, with logarithms of all products."""
    q, k = mixer.queries(x), mixer.keys(x)
    directions = mixer.projection.T / mixer.place.head_size**0.25
    half_squares = k.square().sum(-1, keepdim=True) / (2 * math.sqrt(mixer.place.head_size))
    of_queries, of_keys = q @ directions, k @ directions - half_squares
    logits = torch.logsumexp(of_queries[:, :, :, None] + of_keys[:, :, None], dim=-1)
    later = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
    weights = logits.masked_fill(later, -math.inf).softmax(dim=-1)
    return mixer.merged(weights @ mixer.split(mixer.value(x)))


@pytest.mark.parametrize("scale", [0.01, 1.0, 10.0, 100.0])
def test_when_causal_it_is_exact_at_any_scale(scale):
    mixer = make("performer", {}, causal=True)
    x, mask = tokens(100)
    x = (scale * x).requires_grad_()
    y, expected = mixer(x, mask), written_out(mixer, x)
    torch.testing.assert_close(y, expected)
    ours, theirs = (torch.autograd.grad(t.square().sum(), x)[0] for t in (y, expected))
    torch.testing.assert_close(ours, theirs)


def test_when_causal_single_precision_holds_for_tokens_ten_times_as_large():
    mixer = make("performer", {}, causal=True)
    x, mask = tokens(100)
    exact = mixer(10 * x, mask)
    error = mixer.float()(10 * x.float(), mask) - exact
    assert error.abs().max() < 1e-4 * exact.abs().max()


def test_it_redraws_when_its_steps_are_over_and_not_before():
    mixer = make("performer", {"redraw_every": 10})
    first = mixer.projection.clone()
    mixer.begin_step(9)
    assert torch.equal(mixer.projection, first)
    mixer.begin_step(10)
    assert not torch.equal(mixer.projection, first)


def test_a_resumed_run_draws_what_an_unbroken_one_would():
    unbroken, resumed = (make("performer", {"redraw_every": 10}) for _ in range(2))
    unbroken.begin_step(25)
    resumed.load_state_dict(unbroken.state_dict())
    assert torch.equal(resumed.projection, unbroken.projection)
    resumed.begin_step(5)
    assert not torch.equal(resumed.projection, unbroken.projection)
    resumed.begin_step(29)
    assert torch.equal(resumed.projection, unbroken.projection)


def test_every_layer_draws_its_own():
    lower, upper = (
        build("performer", width=16, num_heads=2, max_length=64, layer=layer, depth=2)
        for layer in (0, 1)
    )
    assert not torch.equal(lower.projection, upper.projection)

import pytest
import torch
import torch.nn.functional as F
from attention.cases import make, tokens
from einops import rearrange

from longarena.attention import build, matrix
from longarena.errors import UserError


def by_halves(x):
    """Rotary positions as flash-linear-attention has them: channel i turns with channel i + d/2."""
    length, size = x.shape[-2:]
    angles = torch.arange(length)[:, None] * 10_000 ** (-torch.arange(0, size, 2) / size).double()
    first, second = x.chunk(2, dim=-1)
    cos, sin = angles.cos(), angles.sin()
    return torch.cat([first * cos - second * sin, first * sin + second * cos], dim=-1)


def test_it_is_that_of_flash_linear_attention_but_for_the_order_of_channels():
    mixer = make("retention", {}, causal=True)
    x, mask = tokens(61)
    # even channels of each head before odd ones
    q, k = (
        rearrange(project(x), "b n (h d two) -> b h n (two d)", h=2, two=2)
        for project in (mixer.query, mixer.key)
    )
    v, gate = (
        rearrange(project(x), "b n (h d) -> b h n d", h=2) for project in (mixer.value, mixer.gate)
    )
    distance = torch.arange(61)[:, None] - torch.arange(61)
    decay = (1 - 2.0 ** torch.tensor([-5.0, -6.0])).double()[:, None, None] ** distance
    scores = by_halves(q) * 8**-0.5 @ by_halves(k).mT * decay.tril()
    y = F.rms_norm(scores @ v, (16,), mixer.norm.weight, eps=1e-5) * F.silu(gate)
    expected = mixer.output(rearrange(y, "b h n d -> b n (h d)"))
    torch.testing.assert_close(mixer(x, mask), expected)


def test_weights_fade_with_the_distance_in_both_directions():
    mixer = make("retention", {})
    x = torch.ones(1, 40, 16, dtype=torch.float64)
    with torch.no_grad():
        mixer.query.weight.copy_(torch.eye(16))
        mixer.key.weight.copy_(torch.eye(16))
    weights = matrix(mixer, x, torch.ones(1, 40, dtype=torch.bool))[0]
    torch.testing.assert_close(weights, weights.mT)
    turning = weights[:, 20] / weights[:, 20, 20:21]
    # all channels are alike, so that at distance 1 only decay and rotation are left
    angles = 10_000 ** (-torch.arange(0, 8, 2).double() / 8)
    decay = torch.tensor([1 - 1 / 32, 1 - 1 / 64], dtype=torch.float64)
    torch.testing.assert_close(turning[:, 21], decay * angles.cos().mean())


def test_what_the_values_gain_in_width_the_feed_forward_loses():
    widths = {
        expansion: make("retention", {"value_expansion": expansion}).mlp_width(64)
        for expansion in (1, 2)
    }
    assert widths == {1: 64, 2: 32}


def test_single_precision_is_enough_for_16384_tokens():
    mixer = build("retention", width=16, num_heads=2, max_length=16_384)
    x = torch.randn(1, 16_384, 16, generator=torch.Generator().manual_seed(0))
    mask = torch.arange(16_384)[None] < 16_000
    with torch.no_grad():
        single = mixer(x, mask)[mask]
        exact = mixer.double()(x.double(), mask)[mask]
    assert (single - exact).abs().max() < 3e-4 * exact.abs().max()


def test_large_inputs_stay_finite():
    mixer = build("retention", width=16, num_heads=2, max_length=512)
    x = (1e6 * torch.randn(1, 512, 16)).requires_grad_()
    y = mixer(x, torch.ones(1, 512, dtype=torch.bool))
    y.sum().backward()
    assert y.isfinite().all()
    assert x.grad.isfinite().all()


def test_heads_of_odd_size_are_refused_with_a_remedy():
    with pytest.raises(UserError, match=r"a head has 5; choose qkv_width=12"):
        build("retention", width=10, num_heads=2, max_length=64)

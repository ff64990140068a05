import math

import pytest
import torch
import torch.nn.functional as F
from representatives import mark_others

from longarena.attention import MIXERS, build
from longarena.findings.growth import growth
from longarena.measure.cost import count_cost, mult_adds
from longarena.measure.work import Shape, byte_signature, prepare

WIDTH, DEPTH, HEADS, MLP, LENGTH, BATCH = 32, 2, 4, 64, 128, 2
SHAPE = Shape(width=WIDTH, depth=DEPTH, num_heads=HEADS, mlp_width=MLP)
HEAD_SIZE = WIDTH // HEADS
PROJECTIONS = 4 * WIDTH**2


def cost(mixer, **options):
    return count_cost(prepare(SHAPE.with_mixer(mixer, options), byte_signature(LENGTH), BATCH))


def mlp_width(mixer, options):
    """The width of the feed-forward after a mixer; some have none."""
    built = build(mixer, width=WIDTH, num_heads=HEADS, max_length=LENGTH, options=options)
    return built.mlp_width(MLP)


def heads(size=8, length=64, **kwargs):
    return torch.randn(2, 3, length, size, **kwargs)


@pytest.mark.parametrize("options", [{}, {"materialised": True}])
def test_the_transformer_has_the_count_of_its_formula(options):
    # every query meets every key twice: for its score and for its value
    assert cost("transformer", **options).mixer == DEPTH * (PROJECTIONS + 2 * LENGTH * WIDTH)


def test_linear_attention_has_the_count_of_its_formula():
    # per token: the features of q and k, their part of k^T x, and the product with the state;
    # per sequence and head: the state times the value and the output projection
    per_token, per_sequence = 4 * WIDTH**2, 2 * WIDTH * HEAD_SIZE * WIDTH
    assert cost("linear").mixer == DEPTH * (per_token + per_sequence / LENGTH)


@pytest.mark.parametrize("mixer", mark_others(MIXERS))
def test_the_rest_of_the_model_costs_the_same_around_every_mixer(mixer):
    options = {
        # these exchange width of the feed-forward for their own
        "lite-transformer": {"flat": False},
        "retention": {"value_expansion": 1},
        # this has as many more tokens as it is asked for
        "luna": {"packed": 1},
    }.get(mixer, {})
    found, mlp = cost(mixer, **options), mlp_width(mixer, options)
    # some mixers see a token more, which stands for the whole sequence
    assert found.feed_forward == pytest.approx(DEPTH * 2 * WIDTH * mlp, rel=2 / LENGTH)
    assert mlp in (0, MLP)
    assert found.head_and_embedding == pytest.approx((WIDTH * MLP + MLP * 2) / LENGTH)


def test_a_training_step_is_three_forward_passes_and_the_scores_once_more():
    found = cost("transformer")
    scores = DEPTH * LENGTH * WIDTH
    assert found.training_step == pytest.approx(3 * found.forward + scores)


def test_fused_attention_counts_what_the_products_count():
    q, k, v = heads(requires_grad=True), heads(requires_grad=True), heads(requires_grad=True)
    fused = mult_adds(lambda: F.scaled_dot_product_attention(q, k, v))
    assert fused == mult_adds(lambda: (q @ k.transpose(-1, -2)).softmax(-1) @ v)
    assert fused == 2 * 3 * 64 * 64 * 8 * 2
    with_backward = mult_adds(lambda: F.scaled_dot_product_attention(q, k, v).sum().backward())
    assert with_backward == fused * 7 // 2


def test_attention_between_two_lengths_counts_both():
    q, k = heads(length=32), heads(length=128)
    assert mult_adds(lambda: F.scaled_dot_product_attention(q, k, k)) == 2 * 3 * 32 * 128 * 8 * 2


def test_products_that_are_added_in_place_count():
    a, b, total = torch.randn(5, 2, 3), torch.randn(5, 3, 4), torch.zeros(5, 2, 4)
    assert mult_adds(lambda: total.baddbmm_(a, b)) == mult_adds(lambda: a @ b) == 5 * 2 * 3 * 4


def test_fourier_transforms_count_five_n_log_n():
    x, spectrum = torch.randn(7, 256), torch.randn(7, 256, dtype=torch.complex64)
    whole = 7 * 5 * 256 * 8 // 2
    assert mult_adds(lambda: torch.fft.fft(spectrum)) == whole
    assert mult_adds(lambda: torch.fft.rfft(x)) == whole // 2
    assert mult_adds(lambda: torch.fft.irfft(torch.fft.rfft(x))) == whole
    image = torch.randn(8, 256, dtype=torch.complex64)
    assert mult_adds(lambda: torch.fft.fft2(image)) == 5 * 8 * 256 * math.log2(8 * 256) / 2


def test_activations_are_what_forward_keeps():
    matrices = DEPTH * BATCH * HEADS * LENGTH**2 * 4
    materialised, fused = cost("transformer", materialised=True), cost("transformer")
    extra = materialised.activation_bytes - fused.activation_bytes
    assert extra == pytest.approx(matrices, rel=0.02)  # fused, each query keeps one normaliser
    # q, k, v, the output of attention and the two sides of the MLP, in every layer
    assert fused.activation_bytes > DEPTH * BATCH * LENGTH * (4 * WIDTH + 2 * MLP) * 4


@pytest.mark.parametrize("exponent", [1.0, 1.5, 2.0])
def test_growth_finds_the_exponent(exponent):
    lengths = [1024, 2048, 4096]
    assert growth(lengths, [3 * n**exponent for n in lengths]) == pytest.approx(exponent)

"""Mult-Adds of a sentence of 30 tokens, counted by hand and compared with published numbers.

N tokens, width D. A linear map takes N D D, and scores and weighted sums of attention 2 N N D.
"""

import pytest
from model.translations import config, signature

from longarena.model.translation import TranslationModel

N, DEPTH, BLOCK = 30, 6, 32
KERNELS = (3, 7, 15, 31, 31, 31)


def cost(mixer, width, mlp_width, **options):
    sizes = {"width": width, "mlp_width": mlp_width, "depth": DEPTH, "num_heads": 8}
    asked = signature(vocab_size=50, max_length=64)
    return TranslationModel(config(mixer, **sizes, options=options), asked, seed=0).example_cost()


def attention(width):
    return 4 * N * width**2 + 2 * N * N * width


@pytest.mark.parametrize(
    ("width", "mlp_width", "published"),
    [
        *[(128, 512, 87), (256, 1024, 338), (320, 1280, 527)],  # WMT'14
        *[(128, 256, 63), (192, 384, 139), (240, 480, 215)],  # IWSLT'14
    ],
)
def test_the_transformer(width, mlp_width, published):
    found = cost("transformer", width, mlp_width)
    assert found.attention == 2 * DEPTH * attention(width)
    assert found.cross_attention == DEPTH * attention(width)
    assert found.feed_forward == 2 * DEPTH * 2 * N * width * mlp_width
    assert found.convolution == 0
    # the vocabulary, padding left out, and the end
    assert found.head_and_embedding == N * width * 50
    assert found.layers / 1e6 == pytest.approx(published, abs=1)


def convolution(half, kernel, linear_maps):
    # a block is multiplied by a band, most of which is zero
    return linear_maps * N * half**2 + BLOCK * (BLOCK - 1 + kernel) * half


@pytest.mark.parametrize(("width", "published"), [(160, 54), (240, 119), (320, 209)])
def test_the_lite_transformer_of_iwslt(width, published):
    found = cost("lite-transformer", width, 4 * width, glu=False)
    half = width // 2
    assert found.attention == 2 * DEPTH * attention(half)
    assert found.cross_attention == DEPTH * attention(width)
    assert found.feed_forward == 2 * DEPTH * 2 * N * width**2
    assert found.convolution == 2 * sum(convolution(half, kernel, 2) for kernel in KERNELS)
    # they do not count the weighted sums of the convolution, nor zeros
    bands = found.convolution - 2 * DEPTH * 2 * N * half**2
    assert (found.layers - bands) / 1e6 == pytest.approx(published, abs=1)


@pytest.mark.parametrize(("width", "published"), [(200, 90), (408, 360), (496, 527)])
def test_the_lite_transformer_of_wmt(width, published):
    found = cost("lite-transformer", width, width, dynamic=True)
    half = width // 2
    # each position predicts the kernels of four heads
    predicted = sum(N * half * 4 * kernel for kernel in KERNELS)
    gated = sum(convolution(half, kernel, 3) for kernel in KERNELS)
    assert found.convolution == 2 * (gated + predicted)
    bands = 2 * sum(convolution(half, kernel, 0) for kernel in KERNELS)
    assert (found.layers - bands) / 1e6 == pytest.approx(published, abs=1)


def test_a_record_states_the_kinds_and_their_sum():
    asked = signature(vocab_size=50, max_length=64)
    model = TranslationModel(config("lite-transformer"), asked, seed=0).train()
    kinds = model.example_cost().by_name()
    total = kinds.pop("total")
    assert total == sum(kinds.values()) == model.example_cost().layers
    assert set(kinds) == {"attention", "convolution", "feed-forward", "cross attention"}
    assert model.training


def test_vocabulary_and_length_of_a_task_change_nothing():
    small, large = (
        TranslationModel(config(), signature(vocab_size=v, max_length=n), seed=0).example_cost()
        for v, n in ((50, 64), (500, 128))
    )
    assert small.layers == large.layers

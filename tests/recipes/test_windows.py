"""Windows shrink with a short task, so that a window is never the whole sequence."""

import pytest
import torch

from longarena.attention import CARDS, build, find, matrix
from longarena.recipes.presets import preset
from longarena.recipes.presets.windows import TOKENS, options_at

# patterns of fixed places: who sees what does not depend on the input
PATTERNS = ("bigbird", "image-transformer", "local", "longformer", "transformer-xl")


@pytest.mark.parametrize("mixer", TOKENS)
def test_the_numbers_are_the_defaults(mixer):
    defaults = find(mixer).options_type()
    assert options_at(1024, mixer) == {}
    assert {name: getattr(defaults, name) for name in TOKENS[mixer]} == TOKENS[mixer]


@pytest.mark.parametrize("mixer", TOKENS)
def test_half_the_length_has_half_the_window(mixer):
    assert options_at(512, mixer) == {name: n // 2 for name, n in TOKENS[mixer].items()}


@pytest.mark.parametrize("mixer", TOKENS)
@pytest.mark.parametrize("length", [64, 128, 256])
def test_what_a_preset_asks_for_can_be_built(mixer, length):
    built = build(mixer, width=8, num_heads=2, max_length=length, options=options_at(length, mixer))
    x, mask = torch.randn(1, length, 8), torch.ones(1, length, dtype=torch.bool)
    assert built.eval()(x, mask).isfinite().all()


@pytest.mark.parametrize("mixer", PATTERNS)
def test_a_short_pattern_is_not_full_attention(mixer):
    length = 64
    causal = build(
        mixer,
        width=8,
        num_heads=2,
        max_length=length,
        options=options_at(length, mixer),
        causal=True,
    ).eval()
    x, mask = torch.randn(1, length, 8), torch.ones(1, length, dtype=torch.bool)
    with torch.no_grad():
        seen = matrix(causal, x, mask)[0, 0, -1] != 0
    assert seen.sum() <= length // 2


def test_every_probe_and_sentence_has_small_windows():
    for task in ("recall", "selective-copy", "induction", "passkey", "multi30k"):
        assert preset(task, "local", "cpu").model.options["block"] <= 8
    assert preset("recall", "transformer", "cpu").model.options == {}
    assert preset("digits", "local", "cpu").model.options == {}


def test_windows_of_own_mixers_stay():
    assert all(name in CARDS for name in TOKENS)
    assert options_at(64, "mine:Mine") == {}

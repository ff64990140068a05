"""Rotary positions inside of mixers: honoured as defined, or refused in one line."""

from functools import partial

import pytest
import torch
from attention import definitions
from attention.cases import CASES, CAUSAL_CASES, WIDTH, make, over_mixers, tokens
from attention.test_contract import compare_with_definition

from longarena.attention import MIXERS, build, matrix
from longarena.contract import promises
from longarena.contract.promises import gradient
from longarena.errors import UserError


def honours(name, options):
    """The synthesizer compares queries with keys only where dot products are mixed in."""
    return MIXERS[name].takes_rotary and (name != "synthesizer" or options.get("dot_product"))


ROTARY = [(name, options) for name, options in CASES if honours(name, options)]
# one case of every mixer, the first that can be rotated
SMALL = list({name: (name, options) for name, options in reversed(ROTARY)}.values())
CAUSAL = [case for case in ROTARY if case in CAUSAL_CASES]
REFUSING = sorted({name for name, _ in CASES} - {name for name, _ in ROTARY})

small_cases = pytest.mark.parametrize(("name", "options"), SMALL, ids=[name for name, _ in SMALL])


@over_mixers(ROTARY)
def test_with_rotary_positions_it_equals_its_definition(name, options):
    mixer = make(name, options, rotary=True)
    compare_with_definition(mixer, name, options, (61, 40, 9))


@over_mixers(CAUSAL)
def test_causal_with_rotary_positions_it_equals_its_definition(name, options):
    mixer = make(name, options, causal=True, rotary=True)
    compare_with_definition(mixer, name, options, (61, 40, 9))


@small_cases
def test_rotation_changes_the_answers(name, options):
    x, mask = tokens(61, 40)
    plain, turned = (make(name, options, rotary=rotary) for rotary in (False, True))
    assert not torch.allclose(plain(x, mask)[mask], turned(x, mask)[mask])


@small_cases
def test_with_rotary_positions_padding_never_leaks(name, options):
    mixer = make(name, options, rotary=True)
    x, mask = tokens(61, 40, 9)
    noisy = torch.where(mask[..., None], x, 1e3 * torch.randn_like(x))
    torch.testing.assert_close(mixer(x, mask)[mask], mixer(noisy, mask)[mask])
    direction = torch.randn_like(x)
    torch.testing.assert_close(
        gradient(mixer, x, mask, direction), gradient(mixer, noisy, mask, direction)
    )


@small_cases
def test_with_rotary_positions_appended_padding_changes_nothing(name, options):
    mixer = make(name, options, rotary=True)
    x, mask = tokens(61, 40, 9)
    noise, nothing = x.new_full((len(x), 64, WIDTH), 7.0), mask.new_zeros(len(x), 64)
    longer, longer_mask = torch.cat([x, noise], 1), torch.cat([mask, nothing], 1)
    torch.testing.assert_close(mixer(longer, longer_mask)[longer_mask], mixer(x, mask)[mask])
    direction = torch.randn_like(x)
    longer_direction = torch.cat([direction, torch.zeros(3, 64, WIDTH, dtype=x.dtype)], 1)
    torch.testing.assert_close(
        gradient(mixer, longer, longer_mask, longer_direction), gradient(mixer, x, mask, direction)
    )


@small_cases
def test_with_rotary_positions_any_length_stays_finite(name, options):
    promises.any_length_is_answered(partial(make, name, options, rotary=True), [1, 2, 64, 128])


def test_full_attention_with_rotary_positions_depends_on_distances_alone():
    mixer = make("transformer", {}, rotary=True)
    x, mask = tokens(20)
    logits = matrix(mixer, x[:, :1].expand(-1, 20, -1), mask).log()
    for distance in (-3, 5):
        # the difference of two logits of a query, which no normaliser changes
        of_distance = logits.diagonal(distance, dim1=-2, dim2=-1)
        of_itself = logits.diagonal(dim1=-2, dim2=-1)
        first = max(0, -distance)
        difference = of_distance - of_itself[..., first : first + of_distance.shape[-1]]
        torch.testing.assert_close(difference, difference[..., :1].expand_as(difference))


@pytest.mark.parametrize("name", REFUSING)
def test_what_cannot_be_rotated_refuses_and_names_the_remedy(name):
    with pytest.raises(UserError, match=r"rotate.*choose positions=learned"):
        make(name, definitions.of(name).SMALL, rotary=True)


def test_the_synthesizer_refuses_without_dot_products():
    with pytest.raises(UserError, match=r"choose positions=learned or dot_product=true"):
        make("synthesizer", {"variant": "dense"}, rotary=True)


def test_those_that_refuse_have_no_queries_or_positions_of_their_own():
    with_queries = [name for name in REFUSING if MIXERS[name].card.has_qkv]
    others = [name for name in with_queries if not MIXERS[name].has_own_positions]
    # their tokens meet points or packed vectors, which stand nowhere in the sequence
    assert others == ["luna", "set-transformer"]
    assert {"compressive", "transformer-xl"} <= set(with_queries)


def test_heads_of_odd_size_are_refused():
    with pytest.raises(UserError, match="a head has 5; choose qkv_width=12 or positions=learned"):
        build("transformer", width=10, num_heads=2, max_length=16, rotary=True)

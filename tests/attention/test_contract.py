"""What every mixer promises, tested on every entry of the table, present and future.

The promises are those that `longarena check` tries on a user's own (`longarena/contract`).

Every variant is compared with its definition, at rows of several lengths with noise in the padding.
The other promises are tried once per mixer, and on every variant by `make test-all`.
"""

from functools import partial

import pytest
import torch
from attention import definitions
from attention.cases import (
    CASES,
    CAUSAL_CASES,
    MAX_LENGTH,
    QKV_CASES,
    QKV_WIDTH,
    WIDTH,
    make,
    maker,
    over,
    over_mixers,
    tokens,
)

from longarena.attention import MIXERS, Attention, build, matrix
from longarena.contract import promises
from longarena.errors import UserError

LENGTHS = [1, 61, MAX_LENGTH]
OTHER_LENGTHS = [2, 7, 8, 9, 63, 64, 65]


@pytest.mark.shapes
@over_mixers(CASES)
@pytest.mark.parametrize(
    "lengths", [LENGTHS, pytest.param(OTHER_LENGTHS, marks=pytest.mark.everywhere)]
)
def test_any_length_keeps_its_shape_and_stays_finite(name, options, lengths):
    promises.any_length_is_answered(maker(name, options), lengths)


@pytest.mark.parametrize("name", MIXERS)
def test_a_longer_sequence_than_it_was_built_for_is_refused(name):
    promises.too_long_is_refused(maker(name, definitions.of(name).SMALL))


@over_mixers(CASES)
def test_a_row_of_padding_alone_gives_finite_output_and_gradient(name, options):
    promises.padding_alone_is_finite(maker(name, options))


@over_mixers(CASES)
def test_a_row_of_padding_alone_changes_no_other_row(name, options):
    promises.padding_alone_changes_no_other_row(maker(name, options))


@over_mixers(CASES)
def test_padding_never_leaks(name, options):
    promises.padding_never_leaks(maker(name, options))


@over_mixers(CASES)
def test_appended_padding_changes_nothing(name, options):
    promises.appended_padding_changes_nothing(maker(name, options))


@over_mixers(CASES)
def test_a_row_does_not_depend_on_its_neighbours(name, options):
    promises.a_row_stands_alone(maker(name, options))


@pytest.mark.shapes
@over_mixers(CASES)
def test_every_parameter_gets_a_finite_gradient(name, options):
    promises.parameters_are_trained(maker(name, options))


@over_mixers(CASES)
def test_saved_and_loaded_it_answers_the_same(name, options):
    promises.saved_and_loaded_is_the_same(maker(name, options))


@over_mixers(CASES)
def test_the_same_seed_gives_the_same_output(name, options):
    promises.the_same_seed_gives_the_same(maker(name, options))


@over_mixers(CASES)
def test_another_seed_gives_another_output(name, options):
    promises.another_seed_gives_another(maker(name, options))


@over_mixers(CASES)
def test_in_eval_mode_the_output_is_fixed(name, options):
    promises.evaluation_is_fixed(maker(name, options))


@over(CASES)
def test_it_equals_its_definition(name, options):
    mixer = make(name, options)
    for lengths in [(1,), (8,), (61, 40, 9), (64, 17)]:
        compare_with_definition(mixer, name, options, lengths)


@over(CAUSAL_CASES)
def test_when_causal_it_equals_its_definition(name, options):
    mixer = make(name, options, causal=True)
    for lengths in [(1,), (61, 40, 9), (128, 65)]:
        compare_with_definition(mixer, name, options, lengths)


@over_mixers(QKV_CASES)
def test_with_a_qkv_width_of_its_own_it_equals_its_definition(name, options):
    mixer = make(name, options, qkv_width=QKV_WIDTH)
    compare_with_definition(mixer, name, options, (61, 40, 9))


@pytest.mark.parametrize("name", [name for name in MIXERS if not MIXERS[name].card.has_qkv])
def test_without_queries_keys_and_values_their_width_is_refused(name):
    with pytest.raises(UserError, match=f"{name} has no queries, keys and values"):
        build(name, width=16, qkv_width=24, num_heads=2, max_length=64)


@over_mixers([case for case in CAUSAL_CASES if case in QKV_CASES])
def test_causal_with_a_qkv_width_of_its_own_it_equals_its_definition(name, options):
    mixer = make(name, options, causal=True, qkv_width=QKV_WIDTH)
    compare_with_definition(mixer, name, options, (61, 40, 9))


@over_mixers(QKV_CASES)
def test_queries_keys_and_values_have_a_width_of_their_own(name, options):
    mixer = make(name, options, qkv_width=QKV_WIDTH)
    plain = dict(make(name, options).named_parameters())
    assert mixer.place.head_size == QKV_WIDTH // 2
    # by ratios, for a mixer may give its parts their shares of both widths
    wider = {"query", "key", "value", "global_query", "global_key", "global_value"}
    seen = set()
    for key, parameter in mixer.named_parameters():
        kind = key.removesuffix(".weight").rpartition(".")[2]
        if key.endswith(".weight") and kind in wider | {"output"}:
            seen.add(kind)
            changed = 1 if kind == "output" else 0
            assert parameter.shape[changed] * WIDTH == plain[key].shape[changed] * QKV_WIDTH, key
    assert {"value", "output"} <= seen


@over_mixers(QKV_CASES)
def test_with_a_qkv_width_of_its_own_padding_never_leaks(name, options):
    make_wide = partial(make, name, options, qkv_width=QKV_WIDTH)
    promises.any_length_is_answered(make_wide, [61])
    promises.padding_never_leaks(make_wide)


def compare_with_definition(mixer, name, options, lengths):
    mixer.zero_grad()
    x, mask = tokens(*lengths)
    complete = mixer.options_type(**options)
    weights = {
        key: p.detach().clone().requires_grad_(p.is_floating_point())
        for key, p in mixer.state_dict().items()
    }
    direction = torch.randn_like(x)[mask]

    here, there = x.clone().requires_grad_(), x.clone().requires_grad_()
    y = mixer(here, mask)[mask]
    expected = definitions.of(name).definition(there, mask, weights, mixer.place, complete)[mask]
    torch.testing.assert_close(y, expected)

    (y * direction).sum().backward()
    (expected * direction).sum().backward()
    torch.testing.assert_close(here.grad[mask], there.grad[mask])
    for key, parameter in mixer.named_parameters():
        ours, theirs = (
            torch.zeros_like(parameter) if gradient is None else gradient
            for gradient in (parameter.grad, weights[key].grad)
        )
        torch.testing.assert_close(ours, theirs, msg=key)


@pytest.mark.shapes
@over_mixers(CAUSAL_CASES)
@pytest.mark.parametrize("scale", promises.SCALES)
@pytest.mark.parametrize(
    "length",
    [100, *(pytest.param(length, marks=pytest.mark.everywhere) for length in (9, MAX_LENGTH))],
)
def test_a_later_token_changes_nothing_earlier(name, options, scale, length):
    promises.later_changes_nothing_earlier(maker(name, options), scale, length)


@pytest.mark.parametrize("name", [name for name in MIXERS if not MIXERS[name].card.causal])
def test_what_cannot_be_causal_refuses(name):
    with pytest.raises(UserError, match=f"{name} cannot be causal"):
        build(name, width=16, num_heads=2, max_length=64, causal=True)


@pytest.mark.shapes
@over_mixers(CASES)
def test_applying_a_plan_is_multiplying_by_its_matrix(name, options):
    mixer = make(name, options)
    if not isinstance(mixer, Attention):
        pytest.skip(f"{name} is no Attention: it has no matrix")
    x, mask = tokens(61, 40)
    v = torch.randn(2, 2, 61, WIDTH // 2, dtype=x.dtype)
    # what a padded position would say is never heard: the columns of padding may hold anything
    v = v.masked_fill(~mask[:, None, :, None], 0.0)
    expected = matrix(mixer, x, mask) @ v
    y = mixer.apply(mixer.plan(x, mask), v)
    torch.testing.assert_close(y.transpose(1, 2)[mask], expected.transpose(1, 2)[mask])


@pytest.mark.parametrize("name", MIXERS)
def test_its_card_is_complete(name):
    card = MIXERS[name].card
    assert card.name == name
    assert card.paper.startswith("https://")
    assert card.year >= 2017
    assert "not stated" not in (card.time, card.memory)


@pytest.mark.parametrize("name", MIXERS)
def test_an_unknown_option_is_refused_by_name(name):
    with pytest.raises(UserError, match=f"unknown option of {name} 'nonsense'"):
        build(name, width=16, num_heads=2, max_length=64, options={"nonsense": 1})

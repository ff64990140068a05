"""What every mixer promises, tested on every entry of the table, present and future.

Every variant is compared with its definition, at rows of several lengths with noise in the padding.
The other promises are tried once per mixer, and on every variant by `make test-all`.
"""

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
    over,
    over_mixers,
    tokens,
)
from safetensors.torch import load, save

from longarena.attention import MIXERS, Attention, build, matrix
from longarena.errors import UserError

OTHER_LENGTHS = [2, 7, 8, 9, 63, 64, 65]


def gradient(mixer, x, mask, direction):
    """The gradient at the real tokens of a weighted sum of the outputs at the real tokens."""
    x = x.clone().requires_grad_()
    (mixer(x, mask) * direction)[mask].sum().backward()
    return x.grad[mask]


def other_lengths(x, mask):
    """The same rows with 64 padded columns of noise behind them."""
    rows = x.shape[0]
    noise = torch.full((rows, 64, WIDTH), 7.0, dtype=x.dtype)
    return torch.cat([x, noise], 1), torch.cat([mask, torch.zeros(rows, 64, dtype=torch.bool)], 1)


def skip_without_parameters(mixer):
    if not list(mixer.parameters()):
        pytest.skip(f"{mixer.card.name} has no parameters: nothing to draw and nothing to train")


@over_mixers(CASES)
@pytest.mark.parametrize(
    "length",
    [
        *(1, 61, MAX_LENGTH),
        *(pytest.param(length, marks=pytest.mark.everywhere) for length in OTHER_LENGTHS),
    ],
)
def test_any_length_keeps_its_shape_and_stays_finite(name, options, length):
    x, mask = tokens(length, max(1, length // 2))
    y = make(name, options)(x, mask)
    assert y.shape == x.shape
    assert y.isfinite().all()


@pytest.mark.parametrize("name", MIXERS)
def test_a_longer_sequence_than_it_was_built_for_is_refused(name):
    x, mask = tokens(17)
    mixer = make(name, definitions.of(name).SMALL, max_length=16)
    mixer(x[:, :16], mask[:, :16])
    with pytest.raises(UserError, match="up to 16 tokens, and this one has 17; build it with"):
        mixer(x, mask)


@over_mixers(CASES)
def test_a_row_of_padding_alone_gives_finite_output_and_gradient(name, options):
    x, mask = tokens(61, 40)
    mask[1] = False
    x.requires_grad_()
    y = make(name, options)(x, mask)
    y.sum().backward()
    assert y.isfinite().all()
    assert x.grad.isfinite().all()


@over_mixers(CASES)
def test_a_row_of_padding_alone_changes_no_other_row(name, options):
    mixer = make(name, options)
    x, mask = tokens(61, 40)
    alone = mixer(x[:1], mask[:1])
    mask[1] = False
    torch.testing.assert_close(mixer(x, mask)[:1], alone)


@over_mixers(CASES)
def test_padding_never_leaks(name, options):
    mixer = make(name, options)
    x, mask = tokens(61, 40, 9)
    noisy = torch.where(mask[..., None], x, 1e3 * torch.randn_like(x))
    torch.testing.assert_close(mixer(x, mask)[mask], mixer(noisy, mask)[mask])
    direction = torch.randn_like(x)
    torch.testing.assert_close(
        gradient(mixer, x, mask, direction), gradient(mixer, noisy, mask, direction)
    )


@over_mixers(CASES)
def test_appended_padding_changes_nothing(name, options):
    mixer = make(name, options)
    x, mask = tokens(61, 40, 9)
    longer, longer_mask = other_lengths(x, mask)
    torch.testing.assert_close(mixer(longer, longer_mask)[longer_mask], mixer(x, mask)[mask])
    direction = torch.randn_like(x)
    longer_direction = torch.cat([direction, torch.zeros(3, 64, WIDTH, dtype=x.dtype)], 1)
    torch.testing.assert_close(
        gradient(mixer, longer, longer_mask, longer_direction), gradient(mixer, x, mask, direction)
    )


@over_mixers(CASES)
def test_a_row_does_not_depend_on_its_neighbours(name, options):
    mixer = make(name, options)
    x, mask = tokens(61, 40, 9)
    torch.testing.assert_close(mixer(x[1:2, :40], mask[1:2, :40]), mixer(x, mask)[1:2, :40])


@over_mixers(CASES)
def test_every_parameter_gets_a_finite_gradient(name, options):
    mixer = make(name, options).train()
    skip_without_parameters(mixer)
    x, mask = tokens(61, 40)
    loss, extra = mixer(x, mask)[mask].square().sum(), mixer.extra_loss()
    (loss if extra is None else loss + extra).backward()
    gradients = {key: p.grad for key, p in mixer.named_parameters()}
    assert all(g is not None and g.isfinite().all() for g in gradients.values()), gradients
    assert all(g.abs().sum() > 0 for g in gradients.values()), gradients


@over_mixers(CASES)
def test_saved_and_loaded_it_answers_the_same(name, options):
    mixer, other = make(name, options, seed=0), make(name, options, seed=1)
    state = {key: value.contiguous() for key, value in mixer.state_dict().items()}
    other.load_state_dict(load(save(state)))
    x, mask = tokens(61, 40)
    expected = mixer(x, mask)
    other.place = mixer.place  # draws that are no parameters follow the seed, not the file
    other.begin_step(0)
    mixer.begin_step(0)
    torch.testing.assert_close(other(x, mask), expected, rtol=0, atol=0)


@over_mixers(CASES)
def test_the_same_seed_gives_the_same_output(name, options):
    x, mask = tokens(61, 40)
    first, second = make(name, options, seed=3), make(name, options, seed=3)
    assert torch.equal(first(x, mask), second(x, mask))


@over_mixers(CASES)
def test_another_seed_gives_another_output(name, options):
    x, mask = tokens(61, 40)
    first, second = make(name, options, seed=3), make(name, options, seed=4)
    skip_without_parameters(first)
    assert not torch.equal(first(x, mask), second(x, mask))


@over_mixers(CASES)
def test_in_eval_mode_the_output_is_fixed(name, options):
    mixer = make(name, options)
    x, mask = tokens(61, 40)
    assert torch.equal(mixer(x, mask), mixer(x, mask))


@over(CASES)
@pytest.mark.parametrize("lengths", [(1,), (8,), (61, 40, 9), (64, 17)])
def test_it_equals_its_definition(name, options, lengths):
    compare_with_definition(make(name, options), name, options, lengths)


@over(CAUSAL_CASES)
@pytest.mark.parametrize("lengths", [(1,), (61, 40, 9), (128, 65)])
def test_when_causal_it_equals_its_definition(name, options, lengths):
    compare_with_definition(make(name, options, causal=True), name, options, lengths)


@over(QKV_CASES)
def test_with_a_qkv_width_of_its_own_it_equals_its_definition(name, options):
    mixer = make(name, options, qkv_width=QKV_WIDTH)
    compare_with_definition(mixer, name, options, (61, 40, 9))


@pytest.mark.parametrize("name", [name for name in MIXERS if not MIXERS[name].card.has_qkv])
def test_without_queries_keys_and_values_their_width_is_refused(name):
    with pytest.raises(UserError, match=f"{name} has no queries, keys and values"):
        build(name, width=16, qkv_width=24, num_heads=2, max_length=64)


@over([case for case in CAUSAL_CASES if case in QKV_CASES])
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
    mixer = make(name, options, qkv_width=QKV_WIDTH)
    x, mask = tokens(61, 40, 9)
    noisy = torch.where(mask[..., None], x, 1e3 * torch.randn_like(x))
    y = mixer(x, mask)
    assert y.shape == x.shape
    torch.testing.assert_close(y[mask], mixer(noisy, mask)[mask])
    direction = torch.randn_like(x)
    ours = gradient(mixer, x, mask, direction)
    assert ours.isfinite().all()
    torch.testing.assert_close(ours, gradient(mixer, noisy, mask, direction))


def compare_with_definition(mixer, name, options, lengths):
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


# how much larger than usual the tokens are, and the maps to queries and keys
SCALES = {"usual": (1, 1), "small tokens": (0.1, 1), "large tokens": (10, 1), "large maps": (1, 4)}


def enlarge(mixer, factor):
    """Enlarge the maps to queries and keys, or all maps where these have other names."""
    maps = {key: p for key, p in mixer.named_parameters() if p.dim() > 1}
    compared = [p for key, p in maps.items() if "query" in key or "key" in key]
    with torch.no_grad():
        for p in compared or maps.values():
            p.mul_(factor)


def parting(x, places):
    """The first row; the first up to each place and then another; the last token is huge."""
    parted = [x[0], *(torch.cat([x[0, :n], row[n:]]) for n, row in zip(places, x[1:], strict=True))]
    parted[-1][-1] *= 100
    return torch.stack(parted)


@over_mixers(CAUSAL_CASES)
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize(
    "length",
    [100, *(pytest.param(length, marks=pytest.mark.everywhere) for length in (9, MAX_LENGTH))],
)
def test_a_later_token_changes_nothing_earlier(name, options, scale, length):
    mixer = make(name, options, causal=True)
    of_tokens, of_maps = SCALES[scale]
    enlarge(mixer, of_maps)
    places = [1, length // 2, length // 2 + 1, length - 1]
    x, mask = tokens(*[length] * (1 + len(places)))
    x = parting(of_tokens * x, places).requires_grad_()
    y = mixer(x, mask)
    assert not torch.allclose(y[0], y[1])

    earlier = torch.arange(length) < torch.tensor([length, *places])[:, None]
    (gradient,) = torch.autograd.grad((y * torch.randn_like(y))[earlier].sum(), x)
    assert (gradient[~earlier] == 0).all()  # not nearly: not one bit

    bounds = {"rtol": 1e-10, "atol": 1e-12 * y.abs().max().item()}
    for n, row in zip(places, y[1:], strict=True):
        torch.testing.assert_close(row[:n], y[0, :n], **bounds)
        torch.testing.assert_close(mixer(x[:1, :n], mask[:1, :n])[0], y[0, :n], **bounds)


@pytest.mark.parametrize("name", [name for name in MIXERS if not MIXERS[name].card.causal])
def test_what_cannot_be_causal_refuses(name):
    with pytest.raises(UserError, match=f"{name} cannot be causal"):
        build(name, width=16, num_heads=2, max_length=64, causal=True)


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

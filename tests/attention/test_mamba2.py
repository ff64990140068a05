import pytest
import torch
from attention.cases import make, tokens

from longarena.attention import build
from longarena.errors import UserError

SIZES = {"width": 16, "num_heads": 2, "max_length": 16384}
SMALL = {"state": 8, "head_size": 8}
over_directions = pytest.mark.parametrize("causal", [True, False])


def gradients(mixer, x, mask):
    y = mixer(x, mask)
    return y, torch.autograd.grad(y.square().sum(), list(mixer.parameters()))


@over_directions
@pytest.mark.parametrize("chunk", [1, 7, 16, 64])
def test_the_chunk_changes_nothing_but_speed(causal, chunk):
    x, mask = tokens(100, 61)
    whole = make("mamba2", {**SMALL, "chunk": 128}, causal=causal)
    y, expected = gradients(whole, x, mask)
    y_cut, found = gradients(make("mamba2", {**SMALL, "chunk": chunk}, causal=causal), x, mask)
    torch.testing.assert_close(y_cut, y)
    torch.testing.assert_close(found, expected)


@pytest.mark.slow
@over_directions
def test_single_precision_holds_at_16384_tokens(causal):
    mixers = [build("mamba2", causal=causal, options=SMALL, **SIZES) for _ in range(2)]
    x, mask = torch.randn(1, 16384, 16), torch.ones(1, 16384, dtype=torch.bool)
    y, found = gradients(mixers[0], x, mask)
    exact, expected = gradients(mixers[1].double(), x.double(), mask)
    assert (y - exact).abs().max() < 1e-5 * exact.abs().max()
    for ours, theirs in zip(found, expected, strict=True):
        assert (ours - theirs).norm() < 1e-4 * theirs.norm()


@over_directions
def test_a_token_that_forgets_everything_blurs_no_decay_after_it(causal):
    """Its logarithm, of about -30,000, stands beside those of -0.01 in every sum of a chunk."""
    mixers = [build("mamba2", causal=causal, options=SMALL, **SIZES) for _ in range(2)]
    x, mask = torch.randn(1, 256, 16), torch.ones(1, 256, dtype=torch.bool)
    for mixer in mixers:
        torch.nn.init.constant_(mixer.log_decay, 6.0)
    x[:, 20] *= 1000
    exact, expected = gradients(mixers[1].double(), x.double(), mask)
    y, found = gradients(mixers[0], x, mask)
    assert (y - exact).abs().max() < 1e-5 * exact.abs().max()
    for ours, theirs in zip(found, expected, strict=True):
        assert (ours - theirs).norm() < 1e-3 * theirs.norm()


@over_directions
@pytest.mark.parametrize("log_decay", [-30.0, 10.0])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e4])
def test_no_forgetting_and_forgetting_at_once_stay_finite(causal, log_decay, scale):
    mixer = build("mamba2", causal=causal, options=SMALL, **SIZES)
    torch.nn.init.constant_(mixer.log_decay, log_decay)
    x, mask = scale * torch.randn(1, 512, 16), torch.ones(1, 512, dtype=torch.bool)
    y, found = gradients(mixer, x, mask)
    assert y.isfinite().all()
    assert all(gradient.isfinite().all() for gradient in found)


def heard_at(mixer, position, length=61):
    """Where the answer changes with the token at this position."""
    x, mask = tokens(length)
    changed = x.clone()
    changed[:, position] += 1.0
    return (mixer(x, mask) != mixer(changed, mask)).any(dim=-1)[0]


def test_a_token_is_heard_by_all_others():
    assert heard_at(make("mamba2", SMALL), 30).all()


def test_a_token_is_heard_by_itself_and_all_later_ones_when_causal():
    assert heard_at(make("mamba2", SMALL, causal=True), 30).tolist() == [False] * 30 + [True] * 31


def test_where_all_is_forgotten_the_reach_is_that_of_the_neighbours():
    """Then a state has one token, which its two neighbours read, and three more by convolution."""
    mixer = make("mamba2", {**SMALL, "conv": 1})
    torch.nn.init.constant_(mixer.log_decay, 50.0)
    assert heard_at(mixer, 30).nonzero().flatten().tolist() == [29, 30, 31]


@over_directions
def test_long_padding_changes_nothing(causal):
    mixer = make("mamba2", SMALL, causal=causal, max_length=1024)
    x, mask = tokens(61, 3)
    padded = torch.nn.functional.pad(x, (0, 0, 0, 900), value=7.0)
    far = torch.nn.functional.pad(mask, (0, 900))
    torch.testing.assert_close(mixer(padded, far)[:, :61][mask], mixer(x, mask)[mask])


def test_a_row_is_the_same_read_from_its_end_with_exchanged_directions():
    mixer = make("mamba2", SMALL)
    mirrored = make("mamba2", SMALL)
    inner, state, heads = 32, 8, 4
    order = torch.arange(sum(mirrored.parts))
    z_and_x, front, end, *dts = order.split([2 * inner, 2 * state, 2 * state, heads, heads])
    order = torch.cat([z_and_x, end, front, *dts[::-1]])
    mirrored.input.weight.data = mixer.input.weight.data[order]
    channels = order[inner : -2 * heads] - inner
    mirrored.convolution.weight.data = mixer.convolution.weight.data[channels].flip(-1)
    mirrored.convolution.bias.data = mixer.convolution.bias.data[channels]
    x, mask = tokens(61)
    torch.testing.assert_close(mirrored(x.flip(1), mask).flip(1), mixer(x, mask))


def test_it_starts_as_the_authors_start_it():
    options = {"head_size": 1}
    causal = build("mamba2", width=512, num_heads=1, max_length=8, causal=True, options=options)
    dt, decay = torch.nn.functional.softplus(causal.dt_bias), causal.log_decay.exp()
    assert 0.9e-3 < dt.min() < 1.2e-3
    assert 0.8e-1 < dt.max() < 1.01e-1
    assert abs(dt.log().mean() - torch.tensor(1e-2).log()) < 0.2
    assert 1 <= decay.min() < 1.2
    assert 15.8 < decay.max() <= 16
    assert (causal.skip == 1).all()
    assert causal.convolution.kernel_size == (4,)


def test_in_both_directions_it_starts_as_hydra():
    mixer = build("mamba2", **SIZES)
    assert (mixer.log_decay == 0).all()
    assert mixer.convolution.kernel_size == (7,)
    assert len(mixer.skip) == 1


@pytest.mark.parametrize(("width", "heads"), [(64, 2), (48, 2), (256, 8), (37, 2)])
def test_heads_have_at_most_64_channels(width, heads):
    assert len(build("mamba2", width=width, num_heads=1, max_length=8).skip) == heads


def test_heads_that_cannot_share_the_channels_are_refused():
    message = "heads of 5 cannot share 32 channels evenly; choose another head_size"
    with pytest.raises(UserError, match=message):
        build("mamba2", options={"head_size": 5}, **SIZES)


@pytest.mark.parametrize("option", ["conv", "head_size"])
def test_a_size_of_nothing_is_refused(option):
    with pytest.raises(UserError, match="choose 1 or more, or auto"):
        build("mamba2", options={option: 0}, **SIZES)


def test_no_feed_forward_follows_and_the_decays_learn_slowly():
    mixer = build("mamba2", **SIZES)
    assert mixer.mlp_width(512) == 0
    assert mixer.slow_parameters() == {"dt_bias", "log_decay", "skip"}

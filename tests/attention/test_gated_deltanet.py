import pytest
import torch
import torch.nn.functional as F
from attention.cases import make, tokens

from longarena.attention import build
from longarena.attention.ops import delta_layer
from longarena.measure.memory import allocations

SIZES = {"width": 16, "num_heads": 2, "max_length": 16384}
over_directions = pytest.mark.parametrize("causal", [True, False])


def sets(mixer):
    return [mixer.forwards] if mixer.place.causal else [mixer.forwards, mixer.backwards]


def gradients(mixer, x, mask):
    y = mixer(x, mask)
    return y, torch.autograd.grad(y.square().sum(), list(mixer.parameters()))


@over_directions
@pytest.mark.parametrize("chunk", [1, 7, 16, 64])
def test_the_chunk_changes_nothing_but_speed(causal, chunk):
    x, mask = tokens(70, 41)
    whole = make("gated-deltanet", {"chunk": 128}, causal=causal)
    y, expected = gradients(whole, x, mask)
    y_cut, found = gradients(make("gated-deltanet", {"chunk": chunk}, causal=causal), x, mask)
    torch.testing.assert_close(y_cut, y)
    torch.testing.assert_close(found, expected)


@pytest.mark.slow
def test_single_precision_holds_at_16384_tokens():
    mixer = build("gated-deltanet", **SIZES)
    long_chunks = build("gated-deltanet", options={"chunk": 128}, **SIZES).double()
    x, mask = torch.randn(1, 16384, 16), torch.arange(16384)[None] < 16000
    y, found = gradients(mixer, x, mask)
    exact, expected = gradients(long_chunks, x.double(), mask)
    assert (y - exact).abs().max() < 1e-5 * exact.abs().max()
    for ours, theirs in zip(found, expected, strict=True):
        assert (ours - theirs).norm() < 1e-4 * theirs.norm()


@over_directions
def test_a_token_that_forgets_everything_blurs_no_decay_after_it(causal):
    """Its logarithm, of -20,000, stands beside those of -0.02 in every sum of a chunk."""
    mixers = [build("gated-deltanet", causal=causal, **SIZES) for _ in range(2)]
    x, mask = torch.randn(1, 256, 16), torch.ones(1, 256, dtype=torch.bool)
    x[..., 0] = 0.0
    x[:, 20, 0] = 1.0
    with torch.no_grad():
        for parameters in [p for mixer in mixers for p in sets(mixer)]:
            parameters.log_decay.fill_(3.0)
            parameters.dt_bias.fill_(-7.0)
            # the first channel says nothing but this
            for name in ("query", "key", "value", "gate", "beta"):
                getattr(parameters, name).weight[:, 0] = 0.0
            parameters.decay.weight[:, 0] = 1000.0
    exact, expected = gradients(mixers[1].double(), x.double(), mask)
    y, found = gradients(mixers[0], x, mask)
    assert (y - exact).abs().max() < 1e-5 * exact.abs().max()
    for ours, theirs in zip(found, expected, strict=True):
        assert (ours - theirs).norm() < 1e-4 * theirs.norm()


@over_directions
@pytest.mark.parametrize("log_decay", [-30.0, 10.0])
@pytest.mark.parametrize("scale", [0.0, 1e-3, 1.0, 1e4])
def test_saturated_gates_stay_finite(causal, log_decay, scale):
    """Tokens this large close or open every gate, and close b to the last bit."""
    mixer = build("gated-deltanet", causal=causal, **SIZES)
    for parameters in sets(mixer):
        torch.nn.init.constant_(parameters.log_decay, log_decay)
    x, mask = scale * torch.randn(1, 256, 16), torch.ones(1, 256, dtype=torch.bool)
    y, found = gradients(mixer, x, mask)
    assert y.isfinite().all()
    assert all(gradient.isfinite().all() for gradient in found)


def test_tokens_that_are_all_alike_stay_exact_in_single_precision():
    """Then so are the keys, and each token writes over what the one before it wrote."""
    mixers = [build("gated-deltanet", causal=True, **SIZES) for _ in range(2)]
    for mixer in mixers:
        torch.nn.init.constant_(mixer.forwards.log_decay, -30.0)
    x, mask = torch.randn(1, 1, 16).repeat(1, 512, 1), torch.ones(1, 512, dtype=torch.bool)
    y, exact = mixers[0](x, mask), mixers[1].double()(x.double(), mask)
    assert (y - exact).abs().max() < 1e-5 * exact.abs().max()


def heard_at(mixer, position, length=61):
    """Where the answer changes with the token at this position."""
    x, mask = tokens(length)
    changed = x.clone()
    changed[:, position] += 1.0
    return (mixer(x, mask) != mixer(changed, mask)).any(dim=-1)[0]


def test_a_token_is_heard_by_all_others():
    assert heard_at(make("gated-deltanet", {}), 30).all()


def test_a_token_is_heard_by_itself_and_all_later_ones_when_causal():
    heard = heard_at(make("gated-deltanet", {"chunk": 16}, causal=True), 30)
    assert heard.tolist() == [False] * 30 + [True] * 31


def test_where_all_is_forgotten_a_token_is_heard_within_the_convolution():
    mixer = make("gated-deltanet", {"chunk": 16})
    for parameters in sets(mixer):
        torch.nn.init.constant_(parameters.log_decay, 50.0)
    assert heard_at(mixer, 30).nonzero().flatten().tolist() == list(range(27, 34))


@over_directions
def test_long_padding_changes_nothing(causal):
    mixer = make("gated-deltanet", {}, causal=causal, max_length=1024)
    x, mask = tokens(61, 3)
    padded, far = F.pad(x, (0, 0, 0, 900), value=7.0), F.pad(mask, (0, 900))
    torch.testing.assert_close(mixer(padded, far)[:, :61][mask], mixer(x, mask)[mask])


def test_a_row_is_the_same_read_from_its_end_with_exchanged_sets():
    mixer, mirrored = make("gated-deltanet", {}), make("gated-deltanet", {})
    mirrored.forwards, mirrored.backwards = mixer.backwards, mixer.forwards
    x, mask = tokens(61)
    torch.testing.assert_close(mirrored(x.flip(1), mask).flip(1), mixer(x, mask))


def test_half_precision_is_mixed_in_single_precision():
    mixer = build("gated-deltanet", **SIZES)
    x, mask = torch.randn(2, 61, 16).bfloat16(), torch.ones(2, 61, dtype=torch.bool)
    with torch.autocast("cpu", torch.bfloat16):
        y = mixer(x, mask)
    assert y.dtype == torch.bfloat16
    torch.testing.assert_close(y, mixer(x.float(), mask).bfloat16())


def test_what_is_kept_of_a_token_is_its_projection_and_what_it_writes():
    mixer = build("gated-deltanet", width=32, num_heads=2, max_length=4096)
    x = torch.randn(1, 4096, 32, requires_grad=True)
    kept = {}

    def keep(tensor):
        kept[tensor.untyped_storage().data_ptr()] = tensor.nbytes
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        y = mixer(x, torch.ones(1, 4096, dtype=torch.bool))
    y.sum().backward()
    parameters = 2 * sum(p.nbytes for p in mixer.parameters())
    # queries, keys, values, gate; values that are written, rows of the inverse; b and decay
    per_token = (24 + 24 + 48 + 48) + (48 + 2 * 32) + 8 * 2
    per_stretch = 2 * 12 * 24 + 3 * 144
    sets = 2 * 4 * (4096 * per_token + 8 * per_stretch)
    masks = 4 * 4096
    assert sum(kept.values()) <= x.nbytes + parameters + sets + masks


def test_a_prediction_keeps_no_projections():
    mixer = build("gated-deltanet", width=32, num_heads=2, max_length=4096)
    x, mask = torch.randn(1, 4096, 32), torch.ones(1, 4096, dtype=torch.bool)
    kept = allocations(lambda: mixer(x, mask)).kept_bytes
    with torch.no_grad():
        assert allocations(lambda: mixer(x, mask)).peak_bytes < kept


@over_directions
def test_long_stretches_change_nothing_but_speed(causal, monkeypatch):
    x, mask = tokens(70, 41)
    y, expected = gradients(make("gated-deltanet", {"chunk": 8}, causal=causal), x, mask)
    monkeypatch.setattr(delta_layer, "TOKENS_OF_STRETCH", 1)
    y_cut, found = gradients(make("gated-deltanet", {"chunk": 8}, causal=causal), x, mask)
    torch.testing.assert_close(y_cut, y)
    torch.testing.assert_close(found, expected)


def test_a_decoder_carries_the_states_and_the_last_tokens():
    mixer = make("gated-deltanet", {"conv": 4}, causal=True)
    states, convolved = 2 * 6 * 12, 2 * 12 + 24
    assert mixer.state_bytes(1) == mixer.state_bytes(100) == 8 * (states + 3 * convolved)


def test_it_starts_as_the_authors_start_it():
    mixer = build("gated-deltanet", width=512, num_heads=512, max_length=8, causal=True)
    dt, decay = F.softplus(mixer.forwards.dt_bias), mixer.forwards.log_decay.exp()
    assert 0.9e-3 < dt.min() < 1.2e-3
    assert 0.8e-1 < dt.max() < 1.01e-1
    assert abs(dt.log().mean() - torch.tensor(1e-2).log()) < 0.2
    assert 0 < decay.min() < 0.2
    assert 15.8 < decay.max() <= 16
    assert (mixer.forwards.norm.weight == 1).all()


def test_a_set_has_six_squares_of_the_width_in_its_maps():
    mixer = build("gated-deltanet", width=64, num_heads=4, max_length=8)
    maps = 6 * 64**2 + 2 * 4 * 64
    others = 4 * (48 + 48 + 96) + 4 + 4 + 24
    assert sum(p.numel() for p in mixer.parameters()) == 2 * (maps + others)


def test_a_feed_forward_follows_and_the_decays_learn_slowly():
    mixer = build("gated-deltanet", **SIZES)
    assert mixer.mlp_width(512) == 512
    assert mixer.slow_parameters() == {
        f"{way}.{name}" for way in ("forwards", "backwards") for name in ("log_decay", "dt_bias")
    }


@pytest.mark.parametrize(
    ("expand_k", "expand_v", "keys", "values"),
    [(0.3, 0.7, 2, 6), (1.0, 2.0, 8, 16), (0.01, 3, 1, 24)],
)
def test_a_head_has_the_nearest_whole_number_of_channels(expand_k, expand_v, keys, values):
    options = {"expand_k": expand_k, "expand_v": expand_v}
    found = build("gated-deltanet", options=options, **SIZES).forwards
    assert len(found.query.weight) == len(found.key.weight) == 2 * keys
    assert len(found.value.weight) == 2 * values

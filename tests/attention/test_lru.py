import math

import pytest
import torch
from attention.cases import make, tokens

from longarena.attention import build
from longarena.errors import UserError

SIZES = {"width": 16, "num_heads": 2, "max_length": 64}


def transition(mixer):
    return mixer.system().a.detach()


def test_the_transition_begins_evenly_on_a_ring():
    found = transition(build("lru", options={"state": 4096, "r_min": 0.5, "r_max": 0.8}, **SIZES))
    radius = found.abs()
    assert (radius > 0.499).all()
    assert (radius < 0.801).all()
    # even over the area: half of it lies within the root mean square of the two radii
    middle = math.sqrt((0.5**2 + 0.8**2) / 2)
    assert (radius < middle).float().mean() == pytest.approx(0.5, abs=0.03)
    assert (found.imag > 0).float().mean() == pytest.approx(0.5, abs=0.03)


def test_phases_begin_below_their_bound():
    mixer = build("lru", options={"state": 4096, "max_phase": 0.3}, **SIZES)
    phase = transition(mixer).angle()
    assert (phase > 0).all()
    assert (phase < 0.301).all()
    assert phase.mean() == pytest.approx(0.15, abs=0.01)


def test_by_its_defaults_it_remembers_ten_to_a_thousand_tokens():
    radius = transition(build("lru", options={"state": 4096}, **SIZES)).abs()
    assert (radius.min(), radius.max()) == pytest.approx((0.9, 0.999), abs=1e-3)


@pytest.mark.parametrize("radii", [(0.5, 0.5), (0.9, 0.999), (0.99, 0.9999)])
def test_gamma_undoes_what_remembering_adds(radii):
    options = dict(zip(("r_min", "r_max"), radii, strict=True))
    mixer = build("lru", options=options, **SIZES)
    gamma = mixer.log_gamma.detach().exp()
    torch.testing.assert_close(
        gamma.square(), 1 - transition(mixer).abs().square(), rtol=2e-3, atol=0
    )


@pytest.mark.parametrize("nu", [-20.0, 0.0, 5.0])
def test_no_parameter_lets_the_state_grow(nu):
    mixer = make("lru", {})
    torch.nn.init.constant_(mixer.nu, nu)
    assert (transition(mixer).abs() < 1).all()


def test_matrices_begin_as_the_pseudo_code_draws_them():
    mixer = build("lru", width=256, num_heads=2, max_length=64, options={"state": 64})
    assert mixer.b.detach().var() == pytest.approx(1 / (2 * 256), rel=0.05)
    assert mixer.c.detach().var() == pytest.approx(1 / 64, rel=0.05)
    assert mixer.gate.weight.detach().var() == pytest.approx(1 / 256, rel=0.05)


def test_one_way_is_half_of_both_ways():
    both, causal = make("lru", {}), make("lru", {}, causal=True)
    state = both.state_dict()
    causal.load_state_dict(state | {"c": state["c"][:1]})
    torch.nn.init.zeros_(both.c[1])
    x, mask = tokens(61, 40)
    torch.testing.assert_close(both(x, mask)[mask], causal(x, mask)[mask])


def test_both_ways_alike_it_does_not_know_forward_from_backward():
    mixer = make("lru", {})
    with torch.no_grad():
        mixer.c[1] = mixer.c[0]
    x, mask = tokens(61)
    torch.testing.assert_close(mixer(x.flip(1), mask), mixer(x, mask).flip(1))


def test_single_precision_holds_at_the_longest_length():
    single = build("lru", width=16, num_heads=2, max_length=16384)
    double = make("lru", {}, max_length=16384)
    x, mask = tokens(16384)
    torch.testing.assert_close(single(x.float(), mask).double(), double(x, mask), rtol=0, atol=1e-4)


def test_no_feed_forward_follows_and_the_recurrence_learns_slowly():
    mixer = build("lru", **SIZES)
    assert mixer.mlp_width(64) == 0
    assert mixer.slow_parameters() == {"nu", "theta", "log_gamma", "b"}
    assert mixer.slow_parameters() < dict(mixer.named_parameters()).keys()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"r_max": 1.0}, "r_max = 1.0"),
        ({"r_min": -0.1}, "r_min = -0.1"),
        ({"max_phase": 0.0}, "max_phase = 0.0"),
        ({"state": -1}, "state = -1"),
        ({"r_min": 0.9, "r_max": 0.5}, "r_min 0.9 is above r_max 0.5"),
    ],
)
def test_what_cannot_be_honoured_is_refused(options, message):
    with pytest.raises(UserError, match=message):
        build("lru", options=options, **SIZES)

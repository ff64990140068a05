import math

import pytest
import torch
from attention.cases import make, tokens

from longarena.attention import build
from longarena.attention.s4d import inv, legs, lin
from longarena.errors import UserError

SIZES = {"width": 8, "num_heads": 2, "max_length": 16384}


def test_lin_is_a_fourier_series():
    torch.testing.assert_close(lin(8), torch.tensor([0.0, 1.0, 2.0, 3.0]) * math.pi)


def test_inv_follows_the_formula_of_the_paper():
    expected = [64 / math.pi * (64 / (2 * n + 1) - 1) for n in range(32)]
    torch.testing.assert_close(inv(64), torch.tensor(expected))


def test_legs_are_the_eigenvalues_of_the_normal_part_of_hippo():
    state = 16
    hippo = torch.zeros(state, state, dtype=torch.float64)
    for n in range(state):
        for k in range(n):
            hippo[n, k] = -math.sqrt((2 * n + 1) * (2 * k + 1))
        hippo[n, n] = -(n + 1)
    low_rank = torch.sqrt(torch.arange(state, dtype=torch.float64) + 0.5)
    eigenvalues = torch.linalg.eigvals(hippo + torch.outer(low_rank, low_rank))
    torch.testing.assert_close(eigenvalues.real, torch.full_like(low_rank, -0.5))
    positive = eigenvalues.imag[eigenvalues.imag > 0].sort(descending=True).values
    torch.testing.assert_close(legs(state), positive.float())


def test_inv_is_near_legs_for_large_states():
    torch.testing.assert_close(inv(256)[:4], legs(256)[:4], rtol=0.03, atol=0)


@pytest.mark.parametrize(("init", "frequencies"), [("lin", lin), ("inv", inv), ("legs", legs)])
def test_every_channel_starts_with_these_frequencies_and_decays_alike(init, frequencies):
    mixer = build("s4d", options={"init": init, "state": 16}, **SIZES)
    assert torch.equal(mixer.frequency, frequencies(16).expand(8, 8))
    torch.testing.assert_close(mixer.log_decay.exp(), torch.full((8, 8), 0.5))


def test_time_steps_are_spread_evenly_over_the_orders_of_magnitude():
    options = {"dt_min": 1e-4, "dt_max": 1e-1, "state": 2}
    mixer = build("s4d", width=600, num_heads=1, max_length=8, options=options)
    dt = mixer.log_dt.exp()
    assert 1e-4 <= dt.min() < dt.max() <= 0.1001
    shares = [((low <= dt) & (dt < 10 * low)).float().mean() for low in (1e-4, 1e-3, 1e-2)]
    assert min(shares) > 0.28


def test_a_range_of_time_steps_that_is_none_is_refused():
    with pytest.raises(UserError, match=r"dt_min 0.1 is above dt_max 0.01; exchange them"):
        build("s4d", options={"dt_min": 0.1, "dt_max": 0.01}, **SIZES)


def test_half_a_pair_is_refused():
    with pytest.raises(UserError, match="state = 7"):
        build("s4d", options={"state": 7}, **SIZES)


def test_a_kernel_is_the_answer_of_the_state_to_one_token():
    mixer = make("s4d", {"state": 8})
    transition = torch.complex(-mixer.log_decay.exp(), mixer.frequency)
    decay = torch.exp(mixer.log_dt.exp()[:, None] * transition)
    state, answers = (decay - 1) / transition, []
    for _ in range(61):
        answers.append(2 * (torch.view_as_complex(mixer.c) * state).sum(-1).real)
        state = decay * state
    torch.testing.assert_close(mixer.kernels(61), torch.stack(answers, dim=-1))


def test_a_token_is_heard_by_all_others():
    mixer = make("s4d", {})
    x, mask = tokens(61)
    changed = x.clone()
    changed[:, 30] += 1.0
    assert (mixer(x, mask) != mixer(changed, mask)).any(dim=-1).all()


@pytest.mark.parametrize("init", ["lin", "inv", "legs"])
def test_single_precision_holds_at_16384_tokens(init):
    single = build("s4d", options={"init": init}, **SIZES)
    double = build("s4d", options={"init": init}, **SIZES).double()
    mask = torch.ones(1, 16384, dtype=torch.bool)
    x = torch.randn(1, 16384, 8)
    y, exact = single(x, mask), double(x.double(), mask)
    assert (y - exact).abs().max() < 1e-5 * exact.abs().max()
    y.square().sum().backward()
    exact.square().sum().backward()
    for ours, theirs in zip(single.parameters(), double.parameters(), strict=True):
        assert (ours.grad - theirs.grad).norm() < 1e-5 * theirs.grad.norm()


@pytest.mark.parametrize("log_decay", [-30.0, 5.0])
@pytest.mark.parametrize("log_dt", [-12.0, 3.0])
def test_no_forgetting_and_forgetting_at_once_stay_finite(log_decay, log_dt):
    mixer = build("s4d", **SIZES)
    torch.nn.init.constant_(mixer.log_decay, log_decay)
    torch.nn.init.constant_(mixer.log_dt, log_dt)
    y = mixer(torch.randn(1, 2048, 8), torch.ones(1, 2048, dtype=torch.bool))
    y.sum().backward()
    assert y.isfinite().all()
    assert all(p.grad.isfinite().all() for p in mixer.parameters())


def test_no_feed_forward_follows_and_the_transition_learns_slowly():
    mixer = build("s4d", **SIZES)
    assert mixer.mlp_width(512) == 0
    assert mixer.slow_parameters() == {"log_dt", "log_decay", "frequency"}

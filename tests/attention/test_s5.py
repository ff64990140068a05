import math

import numpy as np
import pytest
import torch
from attention.cases import make, tokens

from longarena.attention import build
from longarena.attention.s5 import hippo_normal
from longarena.errors import UserError

SIZES = {"width": 16, "num_heads": 2, "max_length": 64}


def as_complex(parameter):
    return torch.view_as_complex(parameter.detach())


def hippo(size):
    """The normal part of HiPPO-LegS, as the authors make it: the matrix plus a rank of one."""
    n = np.arange(size)
    outer = np.sqrt(1 + 2 * n)[:, None] * np.sqrt(1 + 2 * n)
    rank_one = np.sqrt(n + 0.5)[:, None] * np.sqrt(n + 0.5)
    return rank_one - (np.tril(outer) - np.diag(n))


@pytest.mark.parametrize("size", [2, 8, 64])
def test_the_state_begins_with_the_eigenvalues_of_the_normal_hippo_matrix(size):
    eigenvalues, vectors = hippo_normal(size)
    assert (eigenvalues.real == -0.5).all()
    assert (eigenvalues.imag < 0).all()  # one of each pair
    found = torch.from_numpy(hippo(size)).to(vectors.dtype) @ vectors
    torch.testing.assert_close(found, vectors * eigenvalues)
    torch.testing.assert_close(vectors.mH @ vectors, torch.eye(size // 2, dtype=vectors.dtype))


@pytest.mark.parametrize("size", [2, 8, 64])
def test_eigenvectors_do_not_depend_on_who_finds_them(size):
    first = hippo_normal(size)[1][0]
    assert (first.real > 0).all()
    assert (first.imag.abs() < 1e-12).all()


def test_blocks_begin_alike_and_apart():
    mixer = build("s5", options={"state": 24, "blocks": 3}, **SIZES)
    eigenvalues = torch.complex(mixer.lambda_real, mixer.lambda_imag).detach()
    expected = hippo_normal(8)[0].to(eigenvalues.dtype)
    torch.testing.assert_close(eigenvalues, expected.repeat(3))


def test_the_input_matrix_begins_real_before_it_is_brought_into_the_base_of_the_state():
    mixer = build("s5", width=256, num_heads=2, max_length=64, options={"state": 64, "blocks": 2})
    vectors = torch.block_diag(*[hippo_normal(32)[1]] * 2).to(torch.complex64)
    b = 2 * (vectors @ as_complex(mixer.b)).real  # the other half of the base adds the conjugate
    assert b.var() == pytest.approx(1 / 64, rel=0.05)
    assert b.abs().max() == pytest.approx(2 / 8 / 0.8796, rel=0.01)  # where the draw is cut off


def test_the_output_matrix_and_the_gate_begin_with_the_variance_of_their_inputs():
    mixer = build("s5", width=256, num_heads=2, max_length=64, options={"state": 64})
    # rows of 64 complex numbers, each of variance 2 / 64, of which the base keeps half
    assert as_complex(mixer.c).abs().square().sum(2).mean() == pytest.approx(1, rel=0.05)
    assert mixer.gate.weight.detach().var() == pytest.approx(1 / 256, rel=0.05)


def test_time_steps_begin_between_their_bounds():
    options = {"state": 2048, "blocks": 128, "dt_min": 1e-4, "dt_max": 1e-2}
    log_dt = build("s5", options=options, **SIZES).log_dt.detach()
    assert (log_dt.exp() > 0.99e-4).all()
    assert (log_dt.exp() < 1.01e-2).all()
    assert log_dt.mean() == pytest.approx(math.log(1e-3), abs=0.2)


def test_a_growing_state_is_kept_from_growing():
    mixer = make("s5", {})
    torch.nn.init.constant_(mixer.lambda_real, 3.0)
    transition = mixer.system().a
    assert (transition.abs() < 1).all()
    torch.testing.assert_close(transition.abs(), (-1e-4 * mixer.log_dt.exp()).exp())


def test_a_tiny_time_step_costs_no_digits():
    options = {"dt_min": 1e-6, "dt_max": 1e-6}
    single, double = build("s5", options=options, **SIZES), make("s5", options)
    found, expected = single.system().b.to(torch.complex128), double.system().b
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=0)


def test_one_way_is_half_of_both_ways():
    both, causal = make("s5", {}), make("s5", {}, causal=True)
    state = both.state_dict()
    causal.load_state_dict(state | {"c": state["c"][:1]})
    torch.nn.init.zeros_(both.c[1])
    x, mask = tokens(61, 40)
    torch.testing.assert_close(both(x, mask)[mask], causal(x, mask)[mask])


def test_both_ways_alike_it_does_not_know_forward_from_backward():
    mixer = make("s5", {})
    with torch.no_grad():
        mixer.c[1] = mixer.c[0]
    x, mask = tokens(61)
    torch.testing.assert_close(mixer(x.flip(1), mask), mixer(x, mask).flip(1))


@pytest.mark.parametrize("options", [{}, {"blocks": 4}, {"dt_min": 1e-4}])
def test_single_precision_holds_at_the_longest_length(options):
    single = build("s5", width=16, num_heads=2, max_length=16384, options=options)
    double = make("s5", options, max_length=16384)
    x, mask = tokens(16384)
    torch.testing.assert_close(single(x.float(), mask).double(), double(x, mask), rtol=0, atol=1e-5)


def test_half_precision_around_it_leaves_the_states_whole():
    mixer = build("s5", **SIZES)
    x, mask = tokens(61, 40)
    expected = mixer(x.float(), mask)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = mixer(x.float(), mask)
    torch.testing.assert_close(found.float(), expected, rtol=0, atol=0.05)


def test_no_feed_forward_follows_and_the_system_learns_slowly():
    mixer = build("s5", **SIZES)
    assert mixer.mlp_width(64) == 0
    assert mixer.slow_parameters() == {"lambda_real", "lambda_imag", "log_dt", "b"}
    assert mixer.slow_parameters() < dict(mixer.named_parameters()).keys()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"state": 7}, "choose state=8"),
        ({"state": 16, "blocks": 3}, "16 cannot be shared by 3 blocks .* choose state=18"),
        ({"blocks": 0}, "blocks = 0"),
        ({"dt_min": 0.0}, "dt_min = 0.0"),
        ({"dt_min": 0.5}, "dt_min 0.5 is above dt_max 0.1"),
    ],
)
def test_what_cannot_be_honoured_is_refused(options, message):
    with pytest.raises(UserError, match=message):
        build("s5", options=options, **SIZES)

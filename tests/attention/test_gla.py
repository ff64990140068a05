import pytest
import torch
import torch.nn.functional as F
from attention.cases import make, tokens

from longarena.attention import build, matrix
from longarena.attention.ops.kernel import KernelPlan, kernel_attention
from longarena.errors import UserError

LION = {"lion": True}


def fill_gates(mixer, value):
    """Let every token of a GLA say the same about every channel."""
    torch.nn.init.zeros_(mixer.form.decay.outer.weight)
    torch.nn.init.constant_(mixer.form.decay.outer.bias, value)


def test_open_gates_forget_nothing():
    mixer = make("gla", {}, causal=True)
    fill_gates(mixer, 1e3)
    x, mask = tokens(61)
    q, k = (mixer.form.split(project(x)) for project in (mixer.form.query, mixer.form.key))
    torch.testing.assert_close(matrix(mixer, x, mask), (q * 4**-0.5 @ k.mT).tril())


def test_closed_gates_leave_the_present_token():
    mixer = make("gla", {"tau": 1.0})
    fill_gates(mixer, -1e3)
    x, mask = tokens(61)
    q, k = (mixer.form.split(project(x)) for project in (mixer.form.query, mixer.form.key))
    expected = torch.diag_embed((q * 4**-0.5 * k).sum(-1))
    torch.testing.assert_close(matrix(mixer, x, mask), expected)


def test_each_direction_has_gates_of_its_own():
    mixer = make("gla", {"tau": 1.0})
    fill_gates(mixer, 1e3)
    with torch.no_grad():
        mixer.form.decay.outer.bias[8:] = -1e3
    x, mask = tokens(61)
    weights = matrix(mixer, x, mask)
    assert not weights.triu(1).any()
    assert weights.tril(-1)[..., 60, 0].all()


@pytest.mark.parametrize("bias", [-1e4, 1e4])
@pytest.mark.parametrize("causal", [False, True])
def test_saturated_gates_give_finite_gradients(bias, causal):
    mixer = build("gla", width=16, num_heads=2, max_length=256, causal=causal)
    fill_gates(mixer, bias)
    x = (1e4 * torch.randn(1, 256, 16)).requires_grad_()
    y = mixer(x, torch.ones(1, 256, dtype=torch.bool))
    y.sum().backward()
    assert y.isfinite().all()
    assert x.grad.isfinite().all()
    assert all(p.grad.isfinite().all() for p in mixer.parameters())


@pytest.mark.parametrize("options", [{}, LION], ids=["gla", "lion"])
def test_single_precision_is_enough_for_16384_tokens(options):
    mixer = build("gla", width=16, num_heads=2, max_length=16_384, options=options)
    x = torch.randn(1, 16_384, 16, generator=torch.Generator().manual_seed(0))
    mask = torch.arange(16_384)[None] < 16_000
    with torch.no_grad():
        single = mixer(x, mask)[mask]
        exact = mixer.double()(x.double(), mask)[mask]
    assert (single - exact).abs().max() < 1e-5 * exact.abs().max()


@pytest.mark.parametrize("causal", [False, True])
def test_the_weights_of_lion_are_positive_and_sum_to_one(causal):
    mixer = make("gla", LION, causal=causal)
    x, mask = tokens(61, 40)
    weights = matrix(mixer, x, mask).transpose(1, 2)[mask]
    assert (weights >= 0).all()
    torch.testing.assert_close(weights.sum(-1), torch.ones_like(weights[..., 0]))


def test_lion_without_decay_is_linear_attention():
    mixer = make("gla", LION)
    torch.nn.init.zeros_(mixer.form.decay.weight)
    torch.nn.init.constant_(mixer.form.decay.bias, 1e3)
    x, mask = tokens(61)
    v = mixer.split(mixer.value(x))
    features = (
        F.normalize(F.silu(mixer.split(project(x))) + 0.5, dim=-1)
        for project in (mixer.form.query, mixer.form.key)
    )
    y = mixer.apply(mixer.plan(x, mask), v)
    torch.testing.assert_close(y, kernel_attention(KernelPlan(*features), v))


def test_lion_reads_a_row_alike_from_both_ends():
    mixer = make("gla", LION)
    x, mask = tokens(61)
    torch.testing.assert_close(mixer(x.flip(1), mask), mixer(x, mask).flip(1))


def test_lion_starts_with_memories_up_to_the_whole_row():
    mixer = build("gla", width=64, num_heads=4, max_length=10_000, options=LION)
    spans = -1 / F.logsigmoid(mixer.form.decay.bias)
    torch.testing.assert_close(spans, torch.tensor([10.0, 100.0, 1e3, 1e4]), rtol=1e-2, atol=0)


def test_what_lion_does_not_have_is_refused():
    with pytest.raises(UserError, match="LION-S has no tau; leave it out"):
        build("gla", width=16, num_heads=2, max_length=64, options={**LION, "tau": 4.0})


@pytest.mark.parametrize("expansion", [0.3, 0.01])
def test_keys_that_the_heads_cannot_share_are_refused(expansion):
    with pytest.raises(UserError, match="choose another key_expansion"):
        build("gla", width=16, num_heads=2, max_length=64, options={"key_expansion": expansion})

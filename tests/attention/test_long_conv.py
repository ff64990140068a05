import pytest
import torch
from attention.cases import make, tokens

from longarena.attention import build

SIZES = {"width": 8, "num_heads": 2, "max_length": 64}


def test_small_weights_are_zero_and_larger_ones_shrink():
    mixer = build("long-conv", options={"lam": 0.5}, **SIZES).eval()
    with torch.no_grad():
        mixer.kernel[0, 0, :5] = torch.tensor([-2.0, -0.5, 0.1, 0.5, 0.75])
    expected = torch.tensor([-1.5, 0.0, 0.0, 0.0, 0.25])
    torch.testing.assert_close(mixer.kernels(5)[0, 0], expected)


def test_without_weights_only_the_skip_is_left():
    mixer = make("long-conv", {"lam": 1.0})
    x, mask = tokens(61)
    gated = torch.nn.functional.glu(mixer.gate(torch.nn.functional.gelu(mixer.skip * x)))
    torch.testing.assert_close(mixer(x, mask), gated)


def test_in_training_a_share_of_the_weights_is_dropped_and_the_mean_stays():
    options = {"lam": 0.0, "kernel_dropout": 0.25}
    mixer = build("long-conv", options=options, width=64, num_heads=1, max_length=512)
    torch.nn.init.ones_(mixer.kernel)
    kernels = mixer.kernels(512)
    assert kernels.unique().tolist() == pytest.approx([0.0, 1 / 0.75])
    assert kernels.mean().item() == pytest.approx(1.0, abs=0.01)
    assert torch.equal(mixer.eval().kernels(512), mixer.kernel)


def test_what_is_dropped_depends_on_seed_layer_and_step_alone():
    def kept(step, **place):
        mixer = build("long-conv", **SIZES, **place)
        mixer.begin_step(7)
        mixer.begin_step(step)
        mixer.kernels(64)
        return mixer.kept

    assert torch.equal(kept(3), kept(3))
    others = [kept(4), kept(3, seed=1), kept(3, layer=1, depth=2)]
    assert not any(torch.equal(kept(3), other) for other in others)


def test_a_shorter_batch_drops_the_same_weights():
    mixer = build("long-conv", **SIZES)
    assert torch.equal(mixer.kernels(20), mixer.kernels(64)[..., :20])


def test_the_random_start_is_small_and_the_same_at_every_distance():
    kernel = build("long-conv", width=64, num_heads=1, max_length=512).kernel
    spread = kernel.std(dim=(0, 1))
    assert kernel.std().item() == pytest.approx(0.002, rel=0.02)
    assert spread[:256].mean().item() == pytest.approx(spread[256:].mean().item(), rel=0.05)


def test_the_other_start_decays_twice_exponentially():
    options = {"init": "double_exp"}
    kernel = build("long-conv", width=64, num_heads=1, max_length=4096, options=options).kernel
    for channel in (0, 40, 63):
        for position in (0, 1000, 3000):
            decay = 32 ** (channel / 64)
            # over a stretch in which it decays little
            expected = 0.02 * 2.718281828 ** (-(position + 32) / 4096 * decay)
            found = kernel[:, channel, position : position + 64].std().item()
            assert found == pytest.approx(expected, rel=0.35)


def test_single_precision_holds_at_16384_tokens():
    sizes = SIZES | {"max_length": 16384}
    single, double = build("long-conv", **sizes).eval(), build("long-conv", **sizes).double().eval()
    x, mask = torch.randn(1, 16384, 8), torch.ones(1, 16384, dtype=torch.bool)
    y, exact = single(x, mask), double(x.double(), mask)
    assert (y - exact).abs().max() < 1e-5 * exact.abs().max()
    y.square().sum().backward()
    exact.square().sum().backward()
    for ours, theirs in zip(single.parameters(), double.parameters(), strict=True):
        assert (ours.grad - theirs.grad).norm() < 1e-5 * theirs.grad.norm()


def test_no_feed_forward_follows_and_the_kernel_learns_slowly():
    mixer = build("long-conv", **SIZES)
    assert mixer.mlp_width(512) == 0
    assert mixer.slow_parameters() == {"kernel"}

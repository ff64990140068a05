import torch
import torch.nn.functional as F
from einops import rearrange

from longarena.attention.ops.gated_norm import GatedNorm


def gated_norm(y, gate, weight):
    norm = GatedNorm(len(weight))
    return torch.func.functional_call(norm, {"weight": weight}, (y, gate))


def inputs(scale=1.0):
    generator = torch.Generator().manual_seed(0)
    shapes = (2, 3, 5, 4), (2, 5, 12), (4,)
    y, gate, weight = (torch.randn(s, generator=generator, dtype=torch.float64) for s in shapes)
    return [t.requires_grad_() for t in (scale * y, gate, weight)]


def test_it_norms_every_head_and_gates_it():
    y, gate, weight = inputs()
    normed = rearrange(F.rms_norm(y, (4,), weight, eps=1e-5), "b h n d -> b n (h d)")
    torch.testing.assert_close(gated_norm(y, gate, weight), normed * F.silu(gate))


def test_its_gradient_is_right():
    assert torch.autograd.gradcheck(gated_norm, inputs())


def test_the_size_of_a_head_does_not_matter():
    for scale in (10.0, 1e6):
        torch.testing.assert_close(
            gated_norm(*inputs(scale)), gated_norm(*inputs()), rtol=1e-3, atol=1e-4
        )


def test_heads_of_zeros_give_zeros_and_finite_gradients():
    y, gate, weight = inputs(scale=0.0)
    z = gated_norm(y, gate, weight)
    assert not z.any()
    assert all(g.isfinite().all() for g in torch.autograd.grad(z.sum(), (y, gate, weight)))


def test_half_precision_is_normed_in_single_precision():
    y, gate, weight = (t.detach().bfloat16().requires_grad_() for t in inputs())
    z = gated_norm(y, gate, weight.float())
    torch.testing.assert_close(z, gated_norm(y.float(), gate.float(), weight.float()))
    z.sum().backward()
    assert y.grad.dtype == torch.bfloat16

import torch
import torch.nn.functional as F

from longarena.attention.ops.gated_heads import GatedHeads


def draw(*shape, seed):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64).requires_grad_()


def test_heads_are_normed_and_gated():
    y, gate, dz = (draw(2, 3, 7, 4, 5, seed=seed) for seed in (1, 2, 3))
    expected = F.rms_norm(y, (5,), eps=1e-5) * F.silu(gate)
    wanted = torch.autograd.grad(expected, (y, gate), dz)
    with torch.no_grad():
        heads = GatedHeads(y, gate)
        torch.testing.assert_close(heads.z(), expected)
        z, *found = heads.back(dz)
    torch.testing.assert_close(z, expected)
    torch.testing.assert_close(tuple(found), wanted)


def test_heads_of_zeros_give_zeros_and_finite_gradients():
    gate = draw(1, 7, 4, 5, seed=1).detach()
    heads = GatedHeads(torch.zeros_like(gate), gate)
    assert not heads.z().any()
    assert all(t.isfinite().all() for t in heads.back(torch.ones_like(gate)))

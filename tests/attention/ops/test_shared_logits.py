import math

import pytest
import torch

from longarena.attention.ops.shared_logits import attend_by_shared, is_safe


def draw(*shape, seed):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64).requires_grad_()


def written_out(q, k, v, keys, causal):
    """The softmax over all logits at once."""
    hidden = ~keys[:, None, None, :]
    if causal:
        hidden = hidden | torch.ones(v.shape[2], v.shape[2], dtype=torch.bool).triu(1)
    return (q @ k.mT).masked_fill(hidden, -math.inf).softmax(dim=-1) @ v


# shorter than a tile, just longer than its queries or its keys, and several tiles
@pytest.mark.parametrize("length", [1, 5, 257, 515, 1030])
@pytest.mark.parametrize("causal", [False, True])
def test_it_is_the_softmax_over_all_logits_and_so_are_its_gradients(length, causal):
    q, k = draw(2, length, 3, seed=1), draw(2, length, 3, seed=2)
    v = draw(3, 2, length, 4, seed=3)
    ends = torch.tensor([length, (length + 1) // 2, 1])
    keys = torch.arange(length) < ends[:, None]
    ours = attend_by_shared(q, k, v, keys, causal)
    theirs = written_out(q, k, v, keys, causal)
    torch.testing.assert_close(ours, theirs)
    direction = draw(*ours.shape, seed=4).detach()
    torch.testing.assert_close(
        torch.autograd.grad((ours * direction).sum(), (q, k, v)),
        torch.autograd.grad((theirs * direction).sum(), (q, k, v)),
    )


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_at_the_end_of_the_safe_range_nothing_leaves_single_precision(sign):
    q, k = (torch.full((1, 600, 1), t, dtype=torch.float64) for t in (sign * 5.8, 5.8))
    assert is_safe(q, k)
    assert not is_safe(1.1 * q, k)
    q, k, v = q.requires_grad_(), k.requires_grad_(), draw(1, 1, 600, 4, seed=5)
    keys, parts = torch.ones(1, 600, dtype=torch.bool), []
    for dtype, attend in ((torch.float32, attend_by_shared), (torch.float64, written_out)):
        y = attend(*(t.to(dtype) for t in (q, k, v)), keys, causal=False)
        parts.append((y.double(), *torch.autograd.grad(1e-9 * y.sum(), (q, k, v))))
    torch.testing.assert_close(*parts, atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(parts[0][3], parts[1][3], atol=0.0, rtol=1e-4)

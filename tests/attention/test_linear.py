import pytest
import torch
from attention.cases import make, tokens

from longarena.attention.linear import positive_features
from longarena.attention.ops.kernel import KernelPlan, causal_kernel_attention, kernel_attention


def test_its_order_of_multiplication_changes_nothing():
    mixer = make("linear", {})
    x, mask = tokens(61, 40)
    by_heads = super(type(mixer), mixer).forward(x, mask)
    torch.testing.assert_close(mixer(x, mask)[mask], by_heads[mask])


def test_the_features_have_the_slope_that_they_are_given():
    x, mask = tokens(9, 4)
    assert torch.autograd.gradcheck(positive_features, (x.requires_grad_(), mask))


@pytest.mark.parametrize("scale", [1.0, 1e-12])
def test_the_scale_of_the_features_cancels(scale):
    q, k = torch.rand(2, 1, 2, 50, 8)
    v = torch.randn(1, 2, 50, 4)
    weights = q @ k.mT
    expected = weights / weights.sum(-1, keepdim=True) @ v
    torch.testing.assert_close(kernel_attention(KernelPlan(q, k * scale), v), expected)


@pytest.mark.parametrize("length", [1, 63, 64, 65, 200])
def test_running_sums_give_the_lower_triangle(length):
    q, k = torch.rand(2, 1, 2, length, 8, dtype=torch.float64)
    v = torch.randn(1, 2, length, 4, dtype=torch.float64)
    weights = (q @ k.mT).tril()
    expected = weights / weights.sum(-1, keepdim=True) @ v
    torch.testing.assert_close(causal_kernel_attention(KernelPlan(q, k), v), expected)


def test_keys_that_dwarf_all_before_them_leave_the_earlier_sums_exact():
    q, k = torch.rand(2, 1, 2, 200, 8)
    v = torch.randn(1, 2, 200, 4)
    # in the middle of a chunk: every query of it still reads what came before
    k[:, :, 150:] *= 1e12
    whole = causal_kernel_attention(KernelPlan(q, k), v)
    before = causal_kernel_attention(KernelPlan(q[:, :, :150], k[:, :, :150]), v[:, :, :150])
    torch.testing.assert_close(whole[:, :, :150], before)

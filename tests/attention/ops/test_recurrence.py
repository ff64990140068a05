import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from longarena.attention.ops import recurrence
from longarena.attention.ops.recurrence import BLOCK, recur

# no block is full, one is, several are, and blocks of blocks
LENGTHS = [1, 2, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK, BLOCK**2 + BLOCK + 1]


def one_after_the_other(a, u, reverse):
    """The recurrence by its definition."""
    a, states = a.expand_as(u), []
    positions = range(u.shape[-2])
    for k in reversed(positions) if reverse else positions:
        before = states[-1] if states else torch.zeros_like(u[..., 0, :])
        states.append(a[..., k, :] * before + u[..., k, :])
    return torch.stack(states[::-1] if reverse else states, dim=-2)


def compare(a, u, reverse):
    """Compare states and gradients with the definition."""
    a, u = a.requires_grad_(), u.requires_grad_()
    ours, expected = recur(a, u, reverse), one_after_the_other(a, u, reverse)
    torch.testing.assert_close(ours, expected)
    direction = torch.randn_like(ours)
    torch.testing.assert_close(
        torch.autograd.grad(ours, (a, u), direction),
        torch.autograd.grad(expected, (a, u), direction),
    )


def decays(*shape, dtype=torch.complex128):
    return 0.7 * torch.randn(*shape, dtype=dtype).sigmoid()


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("reverse", [False, True])
def test_one_transition_for_all_positions(length, reverse):
    compare(decays(3), torch.randn(2, length, 3, dtype=torch.complex128), reverse)


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("reverse", [False, True])
def test_a_transition_for_every_position(length, reverse):
    shape = 2, length, 3
    compare(decays(*shape), torch.randn(shape, dtype=torch.complex128), reverse)


@pytest.mark.parametrize("shape", [(3,), (1, 3), (61, 3), (4, 1, 3), (2, 1, 61, 3)])
def test_a_transition_may_be_real_and_shared_by_rows(shape):
    u = torch.randn(2, 4, 61, 3, dtype=torch.float64)
    compare(decays(*shape, dtype=torch.float64), u, reverse=False)


@pytest.mark.parametrize("block", [2, 7, 61, 100])
@pytest.mark.parametrize("reverse", [False, True])
def test_the_block_changes_nothing_but_the_speed(monkeypatch, block, reverse):
    a, u = decays(3), torch.randn(2, 61, 3, dtype=torch.complex128)
    expected = recur(a, u, reverse)
    monkeypatch.setattr(recurrence, "BLOCK", block)
    torch.testing.assert_close(recur(a, u, reverse), expected)


@pytest.mark.parametrize("a", [0.0, 1.0, -1.0])
def test_a_transition_may_forget_all_or_nothing(a):
    u = torch.randn(1, 100, 1, dtype=torch.float64)
    expected = {0.0: u, 1.0: u.cumsum(1), -1.0: one_after_the_other(torch.tensor([-1.0]), u, False)}
    torch.testing.assert_close(recur(torch.tensor([a], dtype=u.dtype), u), expected[a])


def test_a_zero_in_the_middle_starts_anew():
    a, u = torch.full((100, 1), 0.9, dtype=torch.float64), torch.ones(100, 1, dtype=torch.float64)
    a[50] = 0.0
    x = recur(a, u)
    torch.testing.assert_close(x[50:], x[:50])


def test_single_precision_holds_for_long_sequences_that_hardly_decay():
    radius, phase = torch.tensor([0.999, 0.9999, 0.99999]), torch.tensor([0.001, 1.0, 3.1])
    a, u = torch.polar(radius, phase), torch.randn(1, 16384, 3, dtype=torch.complex64)
    exact = recur(a.to(torch.complex128), u.to(torch.complex128))
    error = (recur(a, u) - exact).abs().amax(dim=(0, 1)) / exact.abs().amax(dim=(0, 1))
    assert (error < 1e-4).all(), error


class Calls(TorchDispatchMode):
    """Counts operations, but not views."""

    count = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.count += not func.is_view
        return func(*args, **kwargs or {})


@pytest.mark.parametrize("length", [1024, 16384])
def test_operations_grow_no_faster_than_the_root_of_the_length(length):
    a, u = decays(1).requires_grad_(), torch.zeros(length, 1, dtype=torch.complex128)
    with Calls() as calls:
        recur(a, u).sum().abs().backward()
    # steps of both passes, and three operations for every piece of the gradient's sum
    assert calls.count < 5 * length**0.5 + 100


def test_only_states_and_transition_are_kept():
    kept = []
    a, u = decays(3).requires_grad_(), torch.randn(2, 61, 3, dtype=torch.complex128)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t.shape), lambda _: None):
        recur(a, u)
    assert kept == [(1, 3), (2, 61, 3)]

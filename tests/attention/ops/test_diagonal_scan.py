import pytest
import torch

from longarena.attention.ops import diagonal_scan as module
from longarena.attention.ops.diagonal_scan import Modes, diagonal_scan


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    monkeypatch.setattr(module, "CHUNK", 4)


def draw(*shape, seed=0, dtype=torch.float64):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def modes(kind, width=3, states=5):
    """States that fade at several speeds and, if they are complex, turn."""
    weights = draw(width, states, dtype=kind)
    rates = -draw(width, states, seed=1).square()
    if kind.is_complex:
        rates = torch.complex(rates, 3 * draw(width, states, seed=2))
    return Modes(weights, rates)


def step_by_step(x, modes, state):
    answers = []
    for token in x.unbind(1):
        state = modes.exponents.exp() * state + token[..., None]
        answers.append((modes.weights * state).sum(-1).real)
    return torch.stack(answers, dim=1), state


KINDS = pytest.mark.parametrize("kind", [torch.float64, torch.complex128])


@KINDS
@pytest.mark.parametrize("length", [1, 3, 4, 5, 8, 30, 150])
def test_it_is_the_recurrence(kind, length):
    x, some = draw(2, length, 3, seed=3), modes(kind)
    before = draw(2, 3, 5, seed=4, dtype=kind)
    for state in (torch.zeros_like(before), before):
        found = diagonal_scan(x, some, state)
        torch.testing.assert_close(found, step_by_step(x, some, state))
    torch.testing.assert_close(diagonal_scan(x, some), diagonal_scan(x, some, before * 0))


@KINDS
def test_its_gradient_is_that_of_the_recurrence(kind):
    x, some = draw(2, 14, 3, seed=3), modes(kind)
    inputs = [t.requires_grad_() for t in (x, some.weights, some.exponents)]
    direction = draw(2, 14, 3, seed=5)
    ours, theirs = (
        torch.autograd.grad((y * direction).sum(), inputs)
        for y in (diagonal_scan(x, some)[0], step_by_step(x, some, 0)[0])
    )
    torch.testing.assert_close(ours, theirs)


@KINDS
@pytest.mark.parametrize("place", [1, 4, 30, 60])
def test_no_bit_of_a_later_token_shows(kind, place):
    x = draw(2, 61, 3, seed=3)
    x[1, :place], x[1, place:] = x[0, :place], 1e6
    x.requires_grad_()
    y, _ = diagonal_scan(x, modes(kind))
    assert torch.equal(y[0, :place], y[1, :place])
    y[:, :place].sum().backward()
    assert (x.grad[:, place:] == 0).all()


def test_what_never_fades_and_what_fades_at_once_stay_exact_in_single_precision(monkeypatch):
    monkeypatch.undo()
    rates = torch.tensor([[-1e-12, -1e6, -1e-3]], dtype=torch.float64)
    turns = torch.tensor([[3.0, 1.0, 2.0]], dtype=torch.float64)
    exact = Modes(torch.ones(1, 3, dtype=torch.complex128), torch.complex(rates, turns))
    single = Modes(exact.weights.to(torch.complex64), exact.exponents)
    x = draw(1, 16384, 1)
    expected, _ = diagonal_scan(x, exact)
    error = diagonal_scan(x.float(), single)[0] - expected
    assert error.abs().max() < 1e-5 * expected.abs().max()

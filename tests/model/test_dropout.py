import pytest
import torch
import torch.nn.functional as F
from model.cases import classifier

from longarena.model.dropout import Dropout

SIZE = 1 << 20


def dropped(p=0.1, size=SIZE, seed=0):
    torch.manual_seed(seed)
    return Dropout(p)(torch.ones(size, dtype=torch.float64))


def within_luck(found, p, draws):
    """Five standard errors: one in two million."""
    return abs(found - p) < 5 * (p * (1 - p) / draws) ** 0.5


@pytest.mark.parametrize("p", [0.001, 0.1, 0.5, 0.9])
def test_the_share_that_is_dropped_is_the_probability(p):
    assert within_luck((dropped(p) == 0).double().mean().item(), p, SIZE)


@pytest.mark.parametrize("p", [0.1, 0.3, 0.9, 0.9999999])
def test_the_mean_is_kept_exactly_by_the_scale(p):
    y = dropped(p)
    share = round(p * 2**16) / 2**16 if p < 0.99999 else 1 - 2**-16
    assert set(y.unique().tolist()) <= {0.0, 1 / (1 - share)}


def test_each_of_the_four_numbers_of_a_word_is_dropped_by_itself():
    zeros = (dropped(0.3) == 0).view(-1, 4).double()
    shares, together = zeros.mean(dim=0), zeros.T @ zeros / len(zeros)
    for i in range(4):
        assert within_luck(shares[i].item(), 0.3, len(zeros)), i
        for j in range(i):
            assert within_luck(together[i, j].item(), 0.09, len(zeros)), (i, j)


@pytest.mark.parametrize("shift", [1, 4, 64, 1024])
def test_positions_are_independent(shift):
    zeros = (dropped(0.3) == 0).double()
    both = (zeros[shift:] * zeros[:-shift]).mean().item()
    assert within_luck(both, 0.09, SIZE - shift)


def test_the_same_seed_drops_the_same_numbers():
    assert torch.equal(dropped(seed=1), dropped(seed=1))
    assert not torch.equal(dropped(seed=1), dropped(seed=2))


@pytest.mark.parametrize("shape", [(), (1,), (7,), (3, 5, 7), (0, 4)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_any_shape_and_type_goes_through(shape, dtype):
    torch.manual_seed(0)
    y = Dropout(0.5)(torch.ones(shape, dtype=dtype))
    assert (y.shape, y.dtype) == (torch.Size(shape), dtype)
    assert ((y == 0) | (y == 2)).all()


def test_the_gradient_is_the_mask_times_the_scale():
    x = torch.randn(5, 7, dtype=torch.float64, requires_grad=True)

    def drop(x):
        torch.manual_seed(0)
        return Dropout(0.3)(x)

    assert torch.autograd.gradcheck(drop, x)
    drop(x).sum().backward()
    torch.testing.assert_close(x.grad, drop(torch.ones_like(x)))


def test_a_byte_per_number_is_kept_for_the_backward_pass():
    kept = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t) or t, lambda t: t):
        Dropout(0.3)(torch.ones(5, 7, requires_grad=True))
    assert [(tensor.shape, tensor.dtype) for tensor in kept] == [((5, 7), torch.uint8)]


def test_nothing_is_drawn_where_nothing_is_dropped():
    x, before = torch.randn(9), torch.get_rng_state()
    assert Dropout(0.0)(x) is x
    assert Dropout(0.5).eval()(x) is x
    assert torch.equal(torch.get_rng_state(), before)


def test_a_model_has_no_other_dropout():
    modules = list(classifier("linear", dropout=0.1).modules())
    assert sum(isinstance(module, Dropout) for module in modules) == 1 + 3 * 3
    assert not any(isinstance(module, torch.nn.Dropout) for module in modules)


def test_elsewhere_it_is_torchs_own(monkeypatch):
    asked = []
    monkeypatch.setattr(F, "dropout", lambda x, p: asked.append((x.device.type, p)) or x)
    Dropout(0.25)(torch.ones(3, device="meta"))
    assert asked == [("meta", 0.25)]

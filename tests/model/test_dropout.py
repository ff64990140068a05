import pytest
import torch
import torch.nn.functional as F
from model.cases import classifier

from longarena.model.dropout import Draws, Dropout

SIZE = 1 << 20


def mixed(bits):
    bits = (bits ^ bits >> 16) * 0x7FEB352D % 2**32
    bits = (bits ^ bits >> 15) * 0x846CA68B % 2**32
    return bits ^ bits >> 16


def hashed(position, seed):
    """The hash in whole numbers of any size."""
    low, high = seed % 2**32, seed >> 32
    return mixed(mixed(position ^ low) ^ high)


def dropped(p=0.1, size=SIZE, seed=0):
    torch.manual_seed(seed)
    return Dropout(p)(torch.ones(size, dtype=torch.float64))


def within_luck(found, p, draws):
    """Five standard errors: one in two million."""
    return abs(found - p) < 5 * (p * (1 - p) / draws) ** 0.5


@pytest.mark.parametrize("p", [0.001, 0.1, 0.5, 0.9])
def test_the_share_that_is_dropped_is_the_probability(p):
    assert within_luck((dropped(p) == 0).double().mean().item(), p, SIZE)


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_what_is_kept_is_scaled_so_that_the_mean_stays(p):
    _, kept = dropped(p).unique().tolist()
    assert kept == pytest.approx(1 / (1 - round(p * 2**16) / 2**16), rel=1e-8)


def test_a_probability_next_to_one_drops_all_but_a_few():
    y = dropped(1 - 2**-40)
    assert y.isfinite().all()
    assert within_luck((y == 0).double().mean().item(), 1 - 2**-16, SIZE)


# the last one is the distance of two numbers that share a hash
@pytest.mark.parametrize("shift", [1, 2, 3, 4, 8, 64, 128, 1024, 65536, SIZE // 2])
def test_positions_are_independent(shift):
    zeros = (dropped(0.3) == 0).double()
    both = (zeros[shift:] * zeros[:-shift]).mean().item()
    assert within_luck(both, 0.09, SIZE - shift)


@pytest.mark.parametrize("run", [8, 64, 1024])
def test_the_drops_of_a_run_of_positions_vary_as_luck_does(run):
    """Even a run of 1,024 is neither more regular nor more clustered than a coin."""
    counts = (dropped(0.3) == 0).double().view(-1, run).sum(dim=1)
    expected = run * 0.3 * 0.7
    error = expected * (2 / len(counts)) ** 0.5 * (1 + 1 / run)
    assert abs(counts.var().item() - expected) < 5 * error


# seeds that differ in one bit, in either half of the 64
@pytest.mark.parametrize("bit", [0, 1, 20, 31, 32, 33, 62])
def test_seeds_are_independent(bit):
    ones, threshold = torch.ones(SIZE), round(0.3 * 2**16)
    masks = [Draws(seed, threshold).drop(ones) == 0 for seed in (12345, 12345 ^ 1 << bit)]
    assert within_luck((masks[0] & masks[1]).double().mean().item(), 0.09, SIZE)


@pytest.mark.parametrize("seed", [7, 2**63 - 7, 0x123456789ABCDEF])
@pytest.mark.parametrize("size", [50, 51])
def test_the_hash_is_the_same_on_every_machine(seed, size):
    zeros = Draws(seed, 1 << 15).drop(torch.ones(size)) == 0
    half = (size + 1) // 2
    low = [hashed(i, seed) % 2**16 < 1 << 15 for i in range(half)]
    high = [hashed(i, seed) >> 16 < 1 << 15 for i in range(size - half)]
    assert zeros.tolist() == low + high


def test_the_same_seed_drops_the_same_numbers():
    assert torch.equal(dropped(seed=1), dropped(seed=1))
    assert not torch.equal(dropped(seed=1), dropped(seed=2))


@pytest.mark.parametrize("shape", [(), (1,), (7,), (3, 5, 7), (0, 4)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
def test_any_shape_and_type_goes_through(shape, dtype):
    torch.manual_seed(0)
    y = Dropout(0.5)(torch.ones(shape, dtype=dtype))
    assert (y.shape, y.dtype) == (torch.Size(shape), dtype)
    assert ((y == 0) | (y == 2)).all()


def test_every_type_and_layout_drops_the_same_numbers():
    draws = Draws(7, 1 << 15)
    expected = draws.drop(torch.ones(6, 10)) == 0
    assert torch.equal(draws.drop(torch.ones(6, 10, dtype=torch.bfloat16)) == 0, expected)
    assert torch.equal(draws.drop(torch.ones(10, 6).T) == 0, expected)


def test_the_gradient_is_the_mask_times_the_scale():
    x = torch.randn(5, 7, dtype=torch.float64, requires_grad=True)

    def drop(x):
        torch.manual_seed(0)
        return Dropout(0.3)(x)

    assert torch.autograd.gradcheck(drop, x)
    drop(x).sum().backward()
    torch.testing.assert_close(x.grad, drop(torch.ones_like(x)))


def test_nothing_is_kept_for_the_backward_pass():
    kept = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t) or t, lambda t: t):
        Dropout(0.3)(torch.ones(5, 7, requires_grad=True))
    assert kept == []


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

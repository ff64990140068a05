import pytest
import torch
from attention.cases import make, tokens

from longarena.attention import build, matrix
from longarena.attention.sinkhorn import normalise, sorted_keys

ALL = torch.ones(2, 8, dtype=torch.bool)


def logits(seed=0, scale=3.0):
    generator = torch.Generator().manual_seed(seed)
    return scale * torch.randn(2, 2, 8, 8, generator=generator, dtype=torch.float64)


@pytest.mark.parametrize("iterations", [1, 8, 200])
def test_columns_sum_to_one(iterations):
    columns = normalise(logits(), ALL, iterations).sum(dim=-2)
    torch.testing.assert_close(columns, torch.ones_like(columns))


def test_rows_sum_to_one_after_many_iterations():
    rows = normalise(logits(), ALL, 200).sum(dim=-1)
    torch.testing.assert_close(rows, torch.ones_like(rows), atol=1e-3, rtol=0)


def test_what_is_nearly_a_permutation_becomes_one():
    order = torch.tensor([3, 0, 1, 2, 7, 6, 5, 4])
    clear = logits() + 100 * torch.eye(8, dtype=torch.float64)[order]
    torch.testing.assert_close(
        normalise(clear, ALL, 8), torch.eye(8, dtype=torch.float64)[order].expand(2, 2, 8, 8)
    )


def test_blocks_that_are_not_real_have_neither_row_nor_column():
    real = ALL.clone()
    real[1, 5:] = False
    whole = normalise(logits(), real, 8)
    torch.testing.assert_close(
        whole[1:, :, :5, :5], normalise(logits()[1:, :, :5, :5], ALL[1:, :5], 8)
    )
    assert (whole[1, :, 5:] == 0).all()
    assert (whole[1, :, :, 5:] == 0).all()


def test_a_permutation_moves_whole_blocks():
    order = torch.tensor([2, 0, 1])
    keys = torch.randn(1, 1, 12, 5)
    permutation = torch.eye(3)[order].view(1, 1, 3, 3)
    moved = sorted_keys(permutation, 4)(keys)
    assert torch.equal(moved[0, :, 0], keys.view(3, 4, 5)[order])


def test_every_head_sorts_in_its_own_way():
    mixer = make("sinkhorn", {"block": 8})
    first, second = mixer.permutation(*tokens(61))[0]
    assert not torch.allclose(first, second)


def test_the_loss_trains_the_sorting_network():
    mixer = make("sinkhorn", {"block": 8, "temperature": 0.1})
    x, mask = tokens(64)
    wanted = torch.eye(8, dtype=torch.float64).roll(3, dims=0)
    optimiser = torch.optim.Adam(mixer.network.parameters(), lr=0.03)

    def wanted_share():
        # by the whole mixer: how much of what query block i sees comes from the wanted block
        seen = matrix(mixer, x, mask).view(1, 2, 8, 8, 8, 8).sum(dim=(3, 5))
        return (seen * wanted).sum() / seen.sum()

    before = wanted_share().item()
    for _ in range(60):
        optimiser.zero_grad()
        (-wanted_share()).backward()
        optimiser.step()
    assert before < 0.15
    assert wanted_share() > 0.35


def test_noise_follows_the_step_in_training_only():
    mixer = make("sinkhorn", {"block": 8})
    x, mask = tokens(61, 40)
    fixed = mixer(x, mask)

    def trained(step):
        mixer.train().begin_step(step)
        y = mixer(x, mask)
        assert torch.equal(mixer.eval()(x, mask), fixed)
        return y

    assert torch.equal(trained(3), trained(3))
    assert not torch.equal(trained(3), trained(4))


@pytest.mark.parametrize("row", [0, 1])
def test_noise_of_a_row_does_not_depend_on_the_batch(row):
    mixer = make("sinkhorn", {"block": 8}).train()
    x, mask = tokens(61, 40)
    length = (61, 40)[row]
    alone = mixer(x[row, None, :length], mask[row, None, :length])
    torch.testing.assert_close(alone[0], mixer(x, mask)[row, :length])


def test_sort_cut_shows_all_queries_the_same_keys():
    mixer = make("sinkhorn", {"block": 8, "sort_cut": 1, "temperature": 0.01, "iterations": 200})
    x, mask = tokens(64)
    seen = matrix(mixer, x, mask)[0].view(2, 64, 8, 8).sum(dim=-1)
    first = mixer.permutation(x, mask)[0, :, :1]
    torch.testing.assert_close(seen, first.expand(-1, 64, -1))


@pytest.mark.parametrize("length", [1, 63, 64, 65, 1000, 4097])
def test_with_its_defaults_it_takes_any_length(length):
    mixer = build("sinkhorn", width=16, num_heads=2, max_length=4097)
    y = mixer(torch.randn(1, length, 16), torch.ones(1, length, dtype=torch.bool))
    assert y.shape == (1, length, 16)
    assert y.isfinite().all()

import pytest
import torch
from attention.cases import make, tokens
from torch.nn.functional import one_hot

from longarena.attention import build, matrix
from longarena.attention.sinkhorn import block_sums, normalise, sorted_keys
from longarena.errors import UserError

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


@pytest.mark.slow
def test_the_loss_trains_the_sorting_network():
    mixer = make("sinkhorn", {"block": 8})
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


def test_a_block_is_summarised_by_the_sum_of_its_real_tokens():
    x, mask = tokens(8, 3)
    sums = block_sums(x, mask, 4)
    torch.testing.assert_close(sums[0], torch.stack([x[0, :4].sum(0), x[0, 4:].sum(0)]))
    torch.testing.assert_close(sums[1], torch.stack([x[1, :3].sum(0), torch.zeros(16).double()]))


def test_by_its_defaults_it_sorts_from_the_start_and_other_tokens_in_another_order():
    mixer = build("sinkhorn", width=64, num_heads=2, max_length=4096).eval()
    common = torch.randn(64, generator=torch.Generator().manual_seed(1))
    x = common + torch.randn(2, 4096, 64, generator=torch.Generator().manual_seed(0))
    permutation = mixer.permutation(x, torch.ones(2, 4096, dtype=torch.bool))
    assert permutation.amax(dim=-1).mean() > 0.3
    first, second = permutation.argmax(dim=-1)
    assert (first == second).float().mean() < 0.1


BLOCK, BLOCKS, CLASSES = 4, 6, 4


def all_real(x):
    return torch.ones(x.shape[:2], dtype=torch.bool)


def questions(number, rng, asking):
    """One block names another; the answer is the class that stands in the block named.

    Rows of (6 blocks, 4 tokens): token 2 of a block is its class, token 0 of the block `asking` is
    the number of a block before it or after it, all other tokens are 0.
    """
    x = torch.zeros(number, BLOCKS, BLOCK, 16)
    classes = torch.randint(CLASSES, (number, BLOCKS), generator=rng)
    named = (asking + torch.randint(1, BLOCKS, (number,), generator=rng)) % BLOCKS
    x[:, :, 2, :CLASSES] = 2 * one_hot(classes, CLASSES).float()
    x[:, asking] = 0
    x[:, asking, 0, CLASSES : CLASSES + BLOCKS] = 2 * one_hot(named, BLOCKS).float()
    return x.flatten(1, 2), classes.gather(1, named[:, None])[:, 0], named


@pytest.mark.slow
@pytest.mark.parametrize(("causal", "asking"), [(False, 0), (True, BLOCKS - 1)])
def test_it_learns_to_sort_where_it_must(causal, asking):
    options = {"block": BLOCK}
    mixer = build("sinkhorn", width=16, num_heads=1, max_length=24, causal=causal, options=options)
    torch.manual_seed(0)
    head = torch.nn.Linear(16, CLASSES)
    optimiser = torch.optim.Adam([*mixer.parameters(), *head.parameters()], lr=0.02)
    rng = torch.Generator().manual_seed(0)

    def answers(x):
        return head(mixer(x, all_real(x))[:, asking * BLOCK])

    for step in range(100):
        mixer.begin_step(step)
        x, wanted, _ = questions(64, rng, asking)
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(answers(x), wanted).backward()
        optimiser.step()

    mixer.eval()
    x, wanted, named = questions(256, rng, asking)
    # without the block that is named, a quarter would be right
    assert (answers(x).argmax(dim=1) == wanted).float().mean() > 0.95
    chosen = mixer.permutation(x, all_real(x))[:, 0, asking].argmax(dim=1)
    assert (chosen == named).float().mean() > 0.95


def test_when_causal_rows_share_out_the_blocks_before():
    mixer = make("sinkhorn", {"block": 8}, causal=True)
    permutation = mixer.permutation(*tokens(64))
    assert torch.equal(permutation, permutation.tril(-1))
    torch.testing.assert_close(permutation[:, :, 1:].sum(dim=-1), torch.ones(1, 2, 7).double())


def test_sort_cut_cannot_be_causal():
    with pytest.raises(UserError, match="cannot be causal; leave out sort_cut"):
        make("sinkhorn", {"block": 8, "sort_cut": 2}, causal=True)


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

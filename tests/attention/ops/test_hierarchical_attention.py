import math

import pytest
import torch

from longarena.attention.ops.hierarchical_attention import hierarchical_attention


def draw(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def inputs(length, heads=2, values=5, batch=1):
    q, k = (draw(batch, heads, length, 3, seed=seed).requires_grad_() for seed in (1, 2))
    return q, k, draw(batch, heads, length, values, seed=3).requires_grad_()


def mean_of(x, position, level):
    """The mean of the cell of a position: of the means of its halves, those with tokens."""
    start = position >> level << level
    if level == 0:
        return x[:, :, start]
    second = start + (1 << level - 1)
    halves = [mean_of(x, half, level - 1) for half in (start, second) if half < x.shape[2]]
    return sum(halves) / len(halves)


def meeting_level(i, j, block):
    level = 0
    while abs((i >> level) // block - (j >> level) // block) > 1:
        level += 1
    return level


def written_out(q, k, v, block):
    """The softmax over all pairs of tokens, each with the means of the cells in which they meet."""
    length, scale = v.shape[2], math.sqrt(q.shape[-1])
    rows = []
    for i in range(length):
        levels = [meeting_level(i, j, block) for j in range(length)]
        scores = [
            (mean_of(q, i, level) * mean_of(k, j, level)).sum(dim=-1) / scale
            for j, level in enumerate(levels)
        ]
        rows.append(torch.stack(scores, dim=-1))
    return torch.stack(rows, dim=2).softmax(dim=-1) @ v


# one head has no copies of the bias, and one row no neighbour
@pytest.mark.parametrize("heads", [1, 2])
@pytest.mark.parametrize(("length", "block"), [(1, 2), (5, 2), (13, 2), (25, 4)])
def test_it_is_the_sum_over_all_pairs_of_tokens_and_so_are_its_gradients(length, block, heads):
    parts = inputs(length, heads)
    mask = torch.ones(1, length, dtype=torch.bool)
    ours, theirs = hierarchical_attention(*parts, mask, block), written_out(*parts, block)
    torch.testing.assert_close(ours, theirs)
    direction = draw(*ours.shape, seed=4)
    torch.testing.assert_close(
        torch.autograd.grad((ours * direction).sum(), parts),
        torch.autograd.grad((theirs * direction).sum(), parts),
    )


def test_two_passes_are_alike():
    parts = inputs(40, heads=1)
    mask = torch.ones(1, 40, dtype=torch.bool)
    assert torch.equal(
        hierarchical_attention(*parts, mask, 4), hierarchical_attention(*parts, mask, 4)
    )


def test_a_row_that_ends_early_is_a_shorter_row():
    q, k, v = inputs(32, batch=2)
    mask = torch.arange(32) < torch.tensor([[32], [15]])
    y = hierarchical_attention(q, k, v, mask, 2)[1:, :, :15]
    torch.testing.assert_close(y, written_out(*(t[1:, :, :15] for t in (q, k, v)), 2))


def test_a_row_without_a_token_gives_zeros_and_a_finite_gradient():
    parts = inputs(40, batch=2)
    mask = torch.arange(40) < torch.tensor([[40], [0]])
    y = hierarchical_attention(*parts, mask, 4)
    assert (y[1] == 0).all()
    gradients = torch.autograd.grad(y.sum(), parts)
    assert all(gradient.isfinite().all() for gradient in gradients)


def test_scores_that_differ_by_more_than_any_exponential_keep_their_weights():
    q, k, v = inputs(20)
    # the scores of a query are thousands apart
    k = k + 1000 * torch.arange(20.0)[:, None] * torch.ones(3)
    mask = torch.ones(1, 20, dtype=torch.bool)
    single = hierarchical_attention(*(t.float() for t in (q, k, v)), mask, 2)
    expected = written_out(q, k, v, 2)
    torch.testing.assert_close(single, expected.float(), rtol=1e-3, atol=1e-3)

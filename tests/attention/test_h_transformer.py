import pytest
import torch
import torch.nn.functional as F
from attention.cases import WIDTH, make, tokens

from longarena.attention import build, matrix
from longarena.errors import UserError


def softmax(mixer, x):
    """Exact attention of whole rows."""
    q, k, v = mixer.queries(x), mixer.keys(x), mixer.split(mixer.value(x))
    y = F.scaled_dot_product_attention(q, k, v)
    return mixer.output(y.transpose(1, 2).flatten(2))


@pytest.mark.parametrize(("block", "length"), [(64, 61), (62, 61), (32, 61), (32, 64), (2, 4)])
def test_two_blocks_and_less_are_softmax_attention(block, length):
    mixer = make("h-transformer", {"block": block})
    x, mask = tokens(length)
    torch.testing.assert_close(mixer(x, mask), softmax(mixer, x))


def test_a_row_of_two_blocks_beside_a_long_one_is_exact():
    mixer = make("h-transformer", {"block": 8})
    x, mask = tokens(128, 16)
    torch.testing.assert_close(mixer(x, mask)[1:, :16], softmax(mixer, x[1:, :16]))


def test_where_the_tokens_of_a_cell_are_alike_nothing_is_lost():
    mixer = make("h-transformer", {"block": 4})
    # the top level of 16 blocks has cells of 8 tokens
    x = tokens(8)[0].repeat_interleave(8, dim=1)
    y = mixer(x, torch.ones(1, 64, dtype=torch.bool))
    torch.testing.assert_close(y, softmax(mixer, x))


def test_values_need_not_be_alike():
    mixer = make("h-transformer", {"block": 4})
    x = tokens(8)[0].repeat_interleave(8, dim=1)
    mask = torch.ones(1, 64, dtype=torch.bool)
    v = torch.randn(1, 2, 64, WIDTH // 2, dtype=torch.float64)
    plan = mixer.plan(x, mask)
    expected = F.scaled_dot_product_attention(plan.q, plan.k, v)
    torch.testing.assert_close(mixer.apply(plan, v), expected)


def test_otherwise_it_is_not_softmax():
    mixer = make("h-transformer", {"block": 4})
    x, mask = tokens(64)
    assert (mixer(x, mask) - softmax(mixer, x)).abs().max() > 0.01


def test_near_weights_are_in_proportion_to_those_of_softmax():
    mixer = make("h-transformer", {"block": 4})
    x, mask = tokens(64)
    weights, plan = matrix(mixer, x, mask), mixer.plan(x, mask)
    exact = plan.q @ plan.k.mT / (WIDTH // 2) ** 0.5
    # the block of token 21 is 20 .. 23
    near = slice(16, 28)
    shift = weights[:, :, 21, near].log() - exact[:, :, 21, near]
    torch.testing.assert_close(shift, shift[..., :1].expand_as(shift))
    # farther away tokens are weighed in twos, then in fours
    for start, size in ((8, 2), (0, 4)):
        cells = weights[:, :, 20:22, start : start + 8].unflatten(3, (-1, size))
        torch.testing.assert_close(cells, cells[..., :1].expand_as(cells))
        assert (cells[:, :, 0, 0, 0] - cells[:, :, 0, 1, 0]).abs().min() > 1e-6


def test_weights_are_positive_and_sum_to_one():
    weights = matrix(make("h-transformer", {"block": 4}), *tokens(61))
    assert (weights > 0).all()
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones_like(weights[..., 0]))


def test_far_tokens_are_weighed_by_their_number():
    mixer = make("h-transformer", {"block": 2})
    mixer.query.weight.data.zero_()
    x, mask = tokens(61, 37)
    weights = matrix(mixer, x, mask)
    torch.testing.assert_close(weights[0], torch.full_like(weights[0], 1 / 61))
    torch.testing.assert_close(
        weights[1, :, :37, :37], torch.full_like(weights[1, :, :37, :37], 1 / 37)
    )


@pytest.mark.parametrize("size", [1e2, 1e4])
def test_large_scores_are_as_exact_as_in_double_precision(size):
    mixer = make("h-transformer", {"block": 4})
    x, mask = tokens(128, 61)
    mixer.query.weight.data.mul_(size)
    # powers of two, so that single precision rounds no product
    with torch.no_grad():
        for weight in mixer.parameters():
            weight.copy_(weight.sign() * weight.abs().log2().round().exp2())
    x = (x * 4).round() / 4
    exact = mixer(x, mask)
    single = mixer.float()(x.float(), mask)
    assert single.isfinite().all()
    torch.testing.assert_close(single[mask], exact[mask].float(), rtol=1e-2, atol=1e-2)


def test_gradients_of_large_scores_are_finite():
    mixer = make("h-transformer", {"block": 4}).float()
    x, mask = tokens(128, 61)
    x = (1e3 * x).float().requires_grad_()
    mixer(x, mask)[mask].sum().backward()
    assert x.grad.isfinite().all()


def test_a_token_with_huge_scores_leaves_the_weights_of_others_alone():
    mixer = make("h-transformer", {"block": 2}).float()
    with torch.no_grad():
        for linear in (mixer.query, mixer.key):
            linear.weight.copy_(torch.eye(WIDTH))
    x, mask = tokens(32)
    # orthogonal to the others, so that it has huge scores with itself alone
    x[:, :, 0], x[:, :, WIDTH // 2] = 0.0, 0.0
    x[:, -1] = 0.0
    quiet = matrix(mixer, x.float(), mask)
    x[:, -1, 0], x[:, -1, WIDTH // 2] = 1e3, 1e3
    loud = matrix(mixer, x.float(), mask)
    torch.testing.assert_close(loud[:, :, :16], quiet[:, :, :16])


@pytest.mark.parametrize("block", [3, 15])
def test_a_block_without_halves_is_refused(block):
    with pytest.raises(UserError, match=f"choose an even number, as {block + 1}"):
        make("h-transformer", {"block": block})


def test_a_block_of_nothing_is_refused():
    with pytest.raises(UserError, match="h-transformer: block = 0"):
        make("h-transformer", {"block": 0})


def test_rotary_positions_turn_before_the_means_are_taken():
    mixer = make("h-transformer", {"block": 32}, rotary=True)
    x, mask = tokens(61)
    torch.testing.assert_close(mixer(x, mask), softmax(mixer, x))


def test_half_precision_is_merged_in_single_precision():
    mixer = make("h-transformer", {"block": 4}).float()
    x, mask = tokens(128, 61)
    exact = mixer(x.float(), mask)
    with torch.autocast("cpu", torch.bfloat16):
        half = mixer(x.float(), mask)
    assert half.dtype == torch.bfloat16
    torch.testing.assert_close(half.float()[mask], exact[mask], rtol=0.05, atol=0.05)


def test_single_precision_holds_at_16384_tokens():
    sizes = {"width": 16, "num_heads": 2, "max_length": 16384}
    single, double = build("h-transformer", **sizes), build("h-transformer", **sizes).double()
    x, mask = torch.randn(1, 16384, 16), torch.ones(1, 16384, dtype=torch.bool)
    y, exact = single(x, mask), double(x.double(), mask)
    assert (y - exact).norm() < 1e-5 * exact.norm()
    y.square().sum().backward()
    exact.square().sum().backward()
    for ours, theirs in zip(single.parameters(), double.parameters(), strict=True):
        assert (ours.grad - theirs.grad).norm() < 1e-4 * theirs.grad.norm()

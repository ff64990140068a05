import pytest
import torch
import torch.nn.functional as F
from attention.cases import make, tokens

from longarena.attention import build, matrix
from longarena.attention.nystrom import cut, pseudo_inverse
from longarena.errors import UserError


def softmax_and_convolution(mixer, x):
    """Exact attention of whole rows, and the authors' convolution of the values."""
    q, k, v = mixer.queries(x), mixer.keys(x), mixer.split(mixer.value(x))
    y = F.scaled_dot_product_attention(q, k, v)
    if mixer.convolution is not None:
        kernel = mixer.convolution.kernel[:, None, :, None]
        y = y + F.conv2d(v, kernel, padding=(kernel.shape[2] // 2, 0), groups=len(kernel))
    return mixer.output(y.transpose(1, 2).flatten(2))


@pytest.mark.parametrize("conv", [0, 5, 33])
@pytest.mark.parametrize("length", [1, 40, 61])
def test_with_a_landmark_for_every_token_it_is_softmax_and_a_convolution(length, conv):
    mixer = make("nystrom", {"landmarks": 61, "conv": conv})
    x, mask = tokens(length)
    torch.testing.assert_close(mixer(x, mask), softmax_and_convolution(mixer, x))


def test_a_short_row_beside_a_long_one_is_exact():
    mixer = make("nystrom", {"landmarks": 40, "conv": 5})
    x, mask = tokens(128, 40)
    expected = softmax_and_convolution(mixer, x[1:, :40])
    torch.testing.assert_close(mixer(x, mask)[1:, :40], expected)


def test_when_segments_hold_one_token_many_times_nothing_is_lost():
    mixer = make("nystrom", {"landmarks": 8, "conv": 0})
    for projection in (mixer.query, mixer.key):
        torch.nn.init.eye_(projection.weight)
    # in both heads a token sees mostly its own kind, so that six iterations find the inverse
    kinds = 3 * torch.eye(8, dtype=torch.float64).repeat(1, 2) + 0.3 * tokens(8)[0]
    x = kinds.repeat_interleave(7, dim=1)
    y = mixer(x, torch.ones(1, 56, dtype=torch.bool))
    torch.testing.assert_close(y, softmax_and_convolution(mixer, x), rtol=1e-6, atol=1e-6)


def test_otherwise_it_is_not_softmax():
    mixer = make("nystrom", {"landmarks": 8, "conv": 0})
    x, mask = tokens(56)
    assert (mixer(x, mask) - softmax_and_convolution(mixer, x)).abs().max() > 0.01


def test_the_convolution_reaches_half_of_its_kernel():
    mixer = make("nystrom", {"landmarks": 8, "conv": 5})
    mixer.convolution.kernel.data.fill_(100.0)
    x, mask = tokens(61)
    far = matrix(mixer, x, mask)[0, 0, 30] < 50
    assert far.nonzero().flatten().tolist() == [*range(28), *range(33, 61)]


def test_segments_are_equal_where_the_landmarks_divide_the_length():
    segments = cut(torch.ones(1, 24, dtype=torch.bool), 4)
    expected = torch.eye(4).repeat_interleave(6, dim=1).bool()
    assert torch.equal(segments[0], expected)


@pytest.mark.parametrize("length", [8, 9, 61, 63, 64])
def test_every_real_token_is_in_one_segment_and_sizes_differ_by_one_at_most(length):
    _, mask = tokens(64, length)
    segments = cut(mask, 8)[1]
    assert torch.equal(segments.sum(dim=0), mask[1].long())
    sizes = segments.sum(dim=1)
    assert sizes.min() >= 1
    assert sizes.max() - sizes.min() <= 1
    order = segments[:, :length].int().argmax(dim=0)
    assert torch.equal(order, order.sort().values)


def test_with_fewer_tokens_than_landmarks_the_first_segments_hold_one_each():
    _, mask = tokens(64, 5)
    assert torch.equal(cut(mask, 8)[1, :, :8], torch.diag(torch.arange(8) < 5))


def test_the_iteration_finds_the_inverse():
    torch.manual_seed(0)
    weights = (6 * torch.eye(16) + torch.randn(2, 3, 16, 16)).double().softmax(dim=-1)
    torch.testing.assert_close(pseudo_inverse(weights), weights.inverse(), rtol=1e-4, atol=1e-4)


def test_the_iteration_stays_finite_where_there_is_no_inverse():
    weights = torch.full((1, 1, 64, 64), 1 / 64)
    torch.testing.assert_close(pseudo_inverse(weights), weights)


def test_without_a_convolution_there_is_no_kernel():
    assert not any("convolution" in key for key in make("nystrom", {"conv": 0}).state_dict())


def test_a_kernel_without_a_centre_is_refused():
    with pytest.raises(UserError, match="choose an odd number, as 33"):
        make("nystrom", {"conv": 32})


def test_single_precision_holds_at_16384_tokens():
    sizes = {"width": 16, "num_heads": 2, "max_length": 16384}
    single, double = build("nystrom", **sizes), build("nystrom", **sizes).double()
    x, mask = torch.randn(1, 16384, 16), torch.ones(1, 16384, dtype=torch.bool)
    y, exact = single(x, mask), double(x.double(), mask)
    assert (y - exact).norm() < 1e-5 * exact.norm()
    y.square().sum().backward()
    exact.square().sum().backward()
    for ours, theirs in zip(single.parameters(), double.parameters(), strict=True):
        assert (ours.grad - theirs.grad).norm() < 1e-4 * theirs.grad.norm()

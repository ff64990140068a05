import pytest
import torch
import torch.nn.functional as F
from attention.cases import HEADS, WIDTH, make, tokens

from longarena.attention import build, native_sparse
from longarena.attention.ops.choices import Choices
from longarena.errors import UserError

COMPRESSED, SELECTED, WINDOW = range(3)


def open_only(mixer, branch):
    """Open one gate and close the others, for tokens whose first channel is one."""
    weight = torch.zeros_like(mixer.gate.weight).view(HEADS, 3, WIDTH)
    weight[:, :, 0] = -1e3
    weight[:, branch, 0] = 1e3
    mixer.gate.weight.data.copy_(weight.flatten(0, 1))
    return mixer


def gated_tokens(*lengths, seed=0):
    """Random tokens whose first channel is one."""
    x, mask = tokens(*lengths, seed=seed)
    x[..., 0] = 1.0
    return x, mask


def softmax(mixer, x, keys, values):
    """Exact attention of whole rows with these projections."""
    q, k, v = (mixer.split(linear(x)) for linear in (mixer.query, keys, values))
    y = F.scaled_dot_product_attention(q, k, v, is_causal=mixer.place.causal)
    return mixer.output(y.transpose(1, 2).flatten(2))


both_ways = pytest.mark.parametrize("causal", [False, True])


@both_ways
@pytest.mark.parametrize("length", [1, 40, 61])
def test_a_window_of_twice_the_length_is_softmax(length, causal):
    mixer = open_only(make("native-sparse", {"window": 122}, causal=causal), WINDOW)
    x, mask = gated_tokens(length)
    torch.testing.assert_close(mixer(x, mask), softmax(mixer, x, mixer.key, mixer.value))


@both_ways
@pytest.mark.parametrize("block", [1, 4, 61, 128])
def test_selecting_all_blocks_is_softmax(block, causal):
    options = {"block": block, "select": 61}
    mixer = open_only(make("native-sparse", options, causal=causal), SELECTED)
    x, mask = gated_tokens(61)
    expected = softmax(mixer, x, mixer.selected_key, mixer.selected_value)
    torch.testing.assert_close(mixer(x, mask), expected)


def test_selecting_fewer_is_not():
    mixer = open_only(make("native-sparse", {"block": 4, "select": 15}), SELECTED)
    x, mask = gated_tokens(61)
    expected = softmax(mixer, x, mixer.selected_key, mixer.selected_value)
    assert (mixer(x, mask) - expected).abs().max() > 0.01


@both_ways
def test_compressed_blocks_of_one_token_are_softmax_over_mapped_keys_and_values(causal):
    mixer = open_only(make("native-sparse", {"block": 1}, causal=causal), COMPRESSED)
    x, mask = gated_tokens(61)

    def mapped(linear, mlp, position):
        def project(x):
            return mlp.outer(F.relu(mlp.inner(mixer.split(linear(x)) + position)))

        return lambda x: project(x).transpose(1, 2).flatten(2)

    keys = mapped(mixer.compressed_key, mixer.key_compression, mixer.key_position)
    values = mapped(mixer.compressed_value, mixer.value_compression, mixer.value_position)
    torch.testing.assert_close(mixer(x, mask), softmax(mixer, x, keys, values))


def test_the_three_branches_add_up():
    mixer = make("native-sparse", {"block": 4, "select": 5, "window": 8})
    x, mask = gated_tokens(61, 40)
    parts = [open_only(mixer, branch)(x, mask) for branch in range(3)]
    mixer.gate.weight.data[:, 0] = 1e3
    torch.testing.assert_close(mixer(x, mask)[mask], sum(parts)[mask])


def test_a_query_that_sees_no_complete_block_gets_zero_from_the_compressed_branch():
    mixer = open_only(make("native-sparse", {"block": 8}, causal=True), COMPRESSED)
    y = mixer(*gated_tokens(20))
    assert (y[:, :7] == 0).all()
    assert (y[:, 7:] != 0).all()


@pytest.mark.parametrize(("causal", "expected"), [(False, range(26, 35)), (True, range(23, 31))])
def test_the_window_is_centred_or_ends_at_the_query(causal, expected):
    mixer = open_only(make("native-sparse", {"window": 8}, causal=causal), WINDOW)
    assert heard(mixer, gated_tokens(61)[0], 30) == list(expected)


def heard(mixer, x, query):
    """The positions on which the answer at `query` depends smoothly."""
    x = x.clone().requires_grad_()
    mixer(x, torch.ones(x.shape[:2], dtype=torch.bool))[0, query].square().sum().backward()
    return x.grad[0].abs().sum(dim=-1).nonzero().flatten().tolist()


def follow_content(mixer):
    """Make a block's key the mean of its tokens, and every query the token itself."""
    block, size = mixer.options.block, mixer.place.head_size
    for linear in (mixer.query, mixer.compressed_key, mixer.key_compression.outer):
        torch.nn.init.eye_(linear.weight)
    mean = torch.eye(size, dtype=torch.float64).repeat(1, block) / block
    mixer.key_compression.inner.weight.data.copy_(mean)
    mixer.key_position.data.zero_()
    return mixer


@both_ways
@pytest.mark.parametrize("marked", [2, 5, 9])
def test_the_selection_follows_the_content(marked, causal):
    select = 4 if causal else 5
    options = {"block": 4, "select": select}
    mixer = follow_content(make("native-sparse", options, causal=causal))
    open_only(mixer, SELECTED)
    x, _ = gated_tokens(61)
    x[:, :, 1:] *= 0.1
    for position in (*range(4 * marked, 4 * marked + 4), 50):
        x[0, position, 1::4] = 3.0  # two channels of each head
    fixed = [*range(4), *range(44, 51 if causal else 56)]
    assert heard(mixer, x, 50) == sorted(fixed + list(range(4 * marked, 4 * marked + 4)))


def test_no_gradient_flows_through_the_selection():
    mixer = open_only(make("native-sparse", {"block": 4, "select": 5}), SELECTED)
    x, mask = gated_tokens(61)
    mixer(x, mask).square().sum().backward()
    assert not mixer.compressed_key.weight.grad.any()
    assert not mixer.key_compression.inner.weight.grad.any()
    assert mixer.selected_key.weight.grad.any()


@pytest.mark.parametrize("length", [2, 5, 8, 9, 32, 61, 128])
def test_when_causal_no_token_changes_an_earlier_one(length):
    mixer = make("native-sparse", {"block": 4, "select": 4, "window": 6}, causal=True)
    (x, mask), (other, _) = tokens(length), tokens(length, seed=1)
    y = mixer(x, mask)
    for first in {1, length // 2, length - 1}:
        changed = torch.cat([x[:, :first], other[:, first:]], dim=1)
        torch.testing.assert_close(mixer(changed, mask)[:, :first], y[:, :first])


@both_ways
def test_one_sequence_at_a_time_or_all_at_once_give_the_same(monkeypatch, causal):
    mixer = make("native-sparse", {"block": 4, "select": 5, "window": 8}, causal=causal)
    x, mask = tokens(61, 40, 9)
    expected = mixer(x, mask)[mask]
    for count in (1, 128, 10**6):
        monkeypatch.setattr(native_sparse, "TOKENS_AT_ONCE", count)
        torch.testing.assert_close(mixer(x, mask)[mask], expected)


def test_a_selection_is_made_once_for_a_pass_that_is_computed_twice():
    mixer = make("native-sparse", {"block": 4, "select": 5, "window": 8})
    (x, mask), (other, _) = tokens(61), tokens(61, seed=1)
    expected = mixer(x, mask)
    mixer.choices = Choices()
    mixer(other, mask)
    with mixer.choices.replayed():
        assert not torch.allclose(mixer(x, mask), expected)
    mixer.choices = Choices()
    mixer(x, mask)
    with mixer.choices.replayed():
        assert torch.equal(mixer(x, mask), expected)


def test_generation_keeps_all_tokens_to_select_from_and_less_of_the_rest():
    mixer = make("native-sparse", {"block": 4, "select": 5, "window": 8}, causal=True)
    pair = 2 * WIDTH * 8  # a key and a value in float64
    assert mixer.state_bytes(3) == pair * (3 + 3 + 0 + 3)
    assert mixer.state_bytes(61) == pair * (61 + 8 + 15 + 4)


@pytest.mark.parametrize(
    ("options", "message"), [({"select": 3}, "select = 3"), ({"block": 0}, "block = 0")]
)
def test_what_cannot_be_honoured_is_refused(options, message):
    with pytest.raises(UserError, match=message):
        make("native-sparse", options)


def test_single_precision_holds_at_2048_tokens():
    sizes = {"width": 16, "num_heads": 2, "max_length": 2048}
    single, double = build("native-sparse", **sizes), build("native-sparse", **sizes).double()
    x, mask = torch.randn(1, 2048, 16), torch.ones(1, 2048, dtype=torch.bool)
    # rounding decides between blocks that are as good; both make the same choice
    single.choices = double.choices = Choices()
    y = single(x, mask)
    with double.choices.replayed():
        exact = double(x.double(), mask)
    assert (y - exact).norm() < 1e-5 * exact.norm()
    y.square().sum().backward()
    exact.square().sum().backward()
    for ours, theirs in zip(single.parameters(), double.parameters(), strict=True):
        assert (ours.grad - theirs.grad).norm() < 1e-4 * theirs.grad.norm()

import pytest
import torch
from attention.cases import make, tokens
from attention.definitions import poolingformer
from attention.definitions.pieces import masked_softmax

from longarena.attention import build
from longarena.attention.ops.pooling import POOLS, Grid
from longarena.errors import UserError


def plain_window(x, mask, projections, width):
    """A sliding window, written out, its heads joined."""
    q, k, v = projections(x)
    position = torch.arange(x.shape[1])
    near = (position[:, None] - position).abs() <= width // 2
    seen = masked_softmax(q @ k.mT / q.shape[-1] ** 0.5, near & mask[:, None, None, :])
    return (seen @ v).transpose(1, 2).flatten(2)


@pytest.mark.parametrize("pool", POOLS)
def test_pooling_single_tokens_is_a_plain_window(pool):
    options = {"window_1": 8, "window_2": 20, "pool": pool, "kernel": 1, "stride": 1}
    mixer = make("poolingformer", options)
    x, mask = tokens(61, 40)
    y = plain_window(x, mask, mixer.level_1, 8)
    expected = mixer.output(y + plain_window(y, mask, mixer.level_2, 20))
    torch.testing.assert_close(mixer(x, mask)[mask], expected[mask])


@pytest.mark.parametrize(
    ("depth", "layers", "expected"),
    [(1, None, [0]), (4, None, [3]), (8, None, [6, 7]), (4, 2, [2, 3]), (4, 0, []), (2, 5, [0, 1])],
)
def test_only_the_last_layers_have_a_second_level(depth, layers, expected):
    mixers = [
        build(
            "poolingformer",
            width=16,
            num_heads=2,
            max_length=64,
            layer=layer,
            depth=depth,
            options={"layers": layers},
        )
        for layer in range(depth)
    ]
    assert [layer for layer, mixer in enumerate(mixers) if mixer.has_level_2] == expected
    assert all(
        mixer.has_level_2 == any("level_2" in key for key in mixer.state_dict()) for mixer in mixers
    )


def test_the_second_level_sees_as_far_as_its_window():
    mixer = make("poolingformer", {"window_1": 1, "window_2": 32, "kernel": 1, "stride": 4})
    x, mask = tokens(64)
    x.requires_grad_()
    mixer(x, mask)[0, 32].sum().backward()
    seen = x.grad[0].abs().sum(1).nonzero()[:, 0]
    assert seen.tolist() == [16, 20, 24, 28, 32, 36, 40, 44, 48]


def test_the_middle_token_decides_how_its_window_is_weighed():
    mixer = make("poolingformer", {"kernel": 3, "stride": 2})
    pool = mixer.pool_values
    x = torch.randn(1, 2, 9, 8, dtype=torch.float64)
    mask = torch.ones(1, 9, dtype=torch.bool)
    with torch.no_grad():
        pool.weight.copy_(torch.tensor([1e3, 0.0, -1e3]).expand_as(pool.weight))
    x[:, :, 4] = x[:, :, 4].abs()  # the logits of slot 2 are then (large, 0, -large)
    torch.testing.assert_close(pool(x, mask)[:, :, 2], x[:, :, 3])


@pytest.mark.parametrize("pool", POOLS)
def test_a_window_of_equal_tokens_is_pooled_to_that_token(pool):
    mixer = make("poolingformer", {"pool": pool})
    x, mask = torch.full((1, 2, 21, 8), 3.0, dtype=torch.float64), torch.ones(1, 21) > 0
    mask[:, 17:] = False
    pooled = mixer.pool_values(x.masked_fill(~mask[:, None, :, None], -7.0), mask)
    torch.testing.assert_close(pooled[:, :, :5], x[:, :, :5])


def test_a_slot_exists_where_its_own_token_is_real():
    mask = torch.arange(10) < torch.tensor([[10], [5], [4]])
    assert Grid(kernel=5, stride=4).real(mask).sum(1).tolist() == [3, 2, 1]


@pytest.mark.parametrize("length", [63, 64, 65, 700])
def test_the_defaults_equal_the_definition_at_any_length(length):
    mixer = make("poolingformer", {}, max_length=700)
    x, mask = tokens(length, length // 2 + 1)
    weights = mixer.state_dict()
    expected = poolingformer.definition(x, mask, weights, mixer.place, mixer.options)
    torch.testing.assert_close(mixer(x, mask)[mask], expected[mask])


def test_shared_weights_refuse_a_qkv_width_of_its_own():
    sizes = {"width": 16, "qkv_width": 8, "num_heads": 2, "max_length": 64}
    with pytest.raises(UserError, match="choose qkv_width=16 or mix=true"):
        build("poolingformer", options={"share_weights": True}, **sizes)
    build("poolingformer", options={"share_weights": True, "mix": True}, **sizes)

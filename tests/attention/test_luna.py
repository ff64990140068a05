import pytest
import torch
import torch.nn.functional as F
from attention.cases import make, tokens
from model.cases import classifier, ids

from longarena.attention import build


def heads(mixer, linear, x):
    return mixer.split(linear(x))


def read(mixer, x, packed):
    """What `packed` vectors read of the tokens behind them, by whole rows without padding."""
    vectors, rest = x[:, :packed], x[:, packed:]
    q, k, v = (
        heads(mixer, linear, t)
        for linear, t in (
            (mixer.pack_query, vectors),
            (mixer.pack_key, rest),
            (mixer.pack_value, rest),
        )
    )
    return F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)


def test_packed_vectors_read_the_sequence_and_have_no_output_map():
    mixer = make("luna", {"packed": 5})
    x, mask = tokens(61)
    torch.testing.assert_close(mixer(x, mask)[:, :5], read(mixer, x, 5))


def test_every_token_reads_what_the_packed_vectors_read():
    mixer = make("luna", {"packed": 5})
    x, mask = tokens(61)
    q = heads(mixer, mixer.query, x[:, 5:])
    k, v = (heads(mixer, linear, read(mixer, x, 5)) for linear in (mixer.key, mixer.value))
    y = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
    torch.testing.assert_close(mixer(x, mask)[:, 5:], mixer.output(y))


def test_by_way_of_one_packed_vector_all_tokens_read_the_same():
    mixer = make("luna", {"packed": 1})
    x, mask = tokens(61)
    y = mixer(x, mask)
    expected = mixer.output(mixer.value(y[:, :1]))
    torch.testing.assert_close(y[:, 1:], expected.expand_as(y[:, 1:]))


def test_packed_vectors_do_not_see_each_other():
    mixer = make("luna", {"packed": 5})
    x, mask = tokens(61)
    changed = x.clone()
    changed[:, 2] += 1
    before, after = mixer(x, mask), mixer(changed, mask)
    same = (before - after).abs().amax(dim=(0, 2)) < 1e-12
    assert same[:5].tolist() == [True, True, False, True, True]
    assert not same[5:].any()


def test_the_order_of_the_tokens_does_not_matter():
    mixer = make("luna", {"packed": 5})
    x, mask = tokens(61)
    order = torch.cat([torch.arange(5), 5 + torch.randperm(56)])
    torch.testing.assert_close(mixer(x[:, order], mask), mixer(x, mask)[:, order])


@pytest.mark.parametrize("length", [1, 4, 8])
def test_without_a_token_behind_them_packed_vectors_read_nothing(length):
    mixer = make("luna", {"packed": 8})
    x, mask = tokens(length)
    assert torch.equal(mixer(x, mask), torch.zeros_like(x))


def test_a_row_without_a_sequence_beside_one_with_it_reads_nothing():
    mixer = make("luna", {"packed": 8})
    x, mask = tokens(61, 8, 3)
    x.requires_grad_()
    y = mixer(x, mask)
    assert torch.equal(y[1:][mask[1:]], torch.zeros_like(y[1:][mask[1:]]))
    y[mask].square().sum().backward()
    assert x.grad.isfinite().all()


def test_large_scores_stay_finite():
    mixer = make("luna", {"packed": 5}).float()
    x, mask = tokens(61, 40)
    x = (1e3 * x).float().requires_grad_()
    y = mixer(x, mask)
    y.sum().backward()
    assert y.isfinite().all()
    assert x.grad.isfinite().all()


def test_the_maps_of_packing_keep_the_width_of_the_tokens():
    shapes = {
        key.removesuffix(".weight"): tuple(p.shape)
        for key, p in make("luna", {}, qkv_width=24).named_parameters()
    }
    packing = dict.fromkeys(("pack_query", "pack_key", "pack_value"), (16, 16))
    unpacking = dict.fromkeys(("query", "key", "value"), (24, 16))
    assert shapes == packing | unpacking | {"output": (16, 24)}


def test_the_encoder_puts_learned_vectors_before_the_sequence():
    model = classifier("luna", options={"packed": 6})
    assert model.backbone.num_prepended == 6
    model(ids(61, 40)).square().sum().backward()
    token = model.backbone.embedding.token.weight.grad
    assert (token[-6:].abs().sum(dim=1) > 0).all()


def test_packed_vectors_travel_from_layer_to_layer():
    model = classifier("luna", depth=2, options={"packed": 6}).double().eval()
    lower, upper = model.backbone.encoder.mixers()
    lower.output.weight.data.zero_()  # in the lower layer only the packed vectors change
    seen = []
    upper.register_forward_hook(lambda _, given, y: seen.append(given[0]))
    sequences, others = ids(61), ids(61)
    others[:, :, 60] = sequences[:, :, 60] % 19 + 1
    model(sequences)
    model(others)
    changed = (seen[0] - seen[1]).abs().amax(dim=(0, 2)) > 1e-9
    assert changed.nonzero().flatten().tolist() == [0, 1, 2, 3, 4, 5, 66]


@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_a_sequence_shorter_than_the_packed_vectors_works_in_any_batch(pooling):
    model = classifier("luna", pooling=pooling, options={"packed": 64}).double().eval()
    alone, beside = model(ids(5)), model(F.pad(ids(5), (0, 56)))
    assert alone.isfinite().all()
    torch.testing.assert_close(alone, beside)


def test_single_precision_holds_at_16384_tokens():
    sizes = {"width": 16, "num_heads": 2, "max_length": 16384}
    single, double = build("luna", **sizes), build("luna", **sizes).double()
    x, mask = torch.randn(1, 16384, 16), torch.ones(1, 16384, dtype=torch.bool)
    y, exact = single(x, mask), double(x.double(), mask)
    assert (y - exact).norm() < 1e-5 * exact.norm()
    y.square().sum().backward()
    exact.square().sum().backward()
    for ours, theirs in zip(single.parameters(), double.parameters(), strict=True):
        assert (ours.grad - theirs.grad).norm() < 1e-4 * theirs.grad.norm()

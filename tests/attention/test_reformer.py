import pytest
import torch
from attention.cases import HEADS, make, tokens
from attention.definitions.pieces import heads, masked_softmax, merge
from attention.test_contract import compare_with_definition

from longarena.attention import build, matrix
from longarena.attention.ops import lsh_attention
from longarena.attention.ops.lsh_attention import attend_in_rounds, sort_in_rounds
from longarena.attention.reformer import digits, hash_tokens


def test_there_is_no_key_projection():
    assert {name for name, _ in make("reformer", {}).named_parameters()} == {
        "query.weight",
        "value.weight",
        "output.weight",
    }


@pytest.mark.parametrize("num_hashes", [1, 3])
def test_one_bucket_is_softmax_of_shared_queries_and_keys_without_self(num_hashes):
    mixer = make("reformer", {"bucket_size": 64, "num_hashes": num_hashes})
    x, mask = tokens(61, 40)
    q, v = (heads(x, linear.weight, HEADS) for linear in (mixer.query, mixer.value))
    logits = q @ (q / q.norm(dim=-1, keepdim=True)).transpose(-1, -2)
    others = mask[:, None, None, :] & ~torch.eye(61, dtype=torch.bool)
    expected = merge(masked_softmax(logits, others) @ v, mixer.output.weight)
    torch.testing.assert_close(mixer(x, mask)[mask], expected[mask])


def test_numbers_of_two_digits_equal_the_definition():
    options = {"bucket_size": 1, "num_hashes": 2}
    mixer = make("reformer", options, max_length=200)
    compare_with_definition(mixer, "reformer", options, (150, 65))


@pytest.mark.parametrize("causal", [False, True])
def test_a_token_that_sees_no_other_sees_itself(causal):
    mixer = make("reformer", {"bucket_size": 1, "num_hashes": 1}, causal=causal)
    x, mask = tokens(61)
    weights = matrix(mixer, x, mask)
    own = weights.diagonal(dim1=-2, dim2=-1)
    assert set(own.unique().tolist()) == {0.0, 1.0}
    torch.testing.assert_close(weights.sum(-1), torch.ones_like(own))


def shown_share(chunk_in_buckets):
    """The share of the pairs of a bucket that chunks of so many mean buckets show."""
    buckets = torch.randint(64, (1, 8, 4096), generator=torch.Generator().manual_seed(0))
    rounds = sort_in_rounds(buckets, chunk_in_buckets * 64)
    shown = (rounds.high - rounds.low).sum().item()
    sizes = torch.nn.functional.one_hot(buckets, 64).sum(dim=2)
    return shown / sizes.square().sum().item()


def test_a_chunk_of_two_mean_buckets_shows_nearly_all_pairs_of_a_bucket():
    assert make("reformer", {"bucket_size": 8}).chunk == 16
    assert shown_share(1) < 0.85
    assert shown_share(2) > 0.9


def test_when_causal_a_token_sees_the_last_of_its_bucket_and_no_more():
    mixer = make("reformer", {"bucket_size": 4, "num_hashes": 1}, causal=True)
    x, mask = tokens(100)
    buckets = mixer.hashed(mixer.queries(x), mask)[0, 0]
    seen = matrix(mixer, x, mask)[0] > 0
    for head, bucket in enumerate(buckets):
        for i in range(100):
            before = [j for j in range(i) if bucket[j] == bucket[i]]
            assert seen[head, i].nonzero().flatten().tolist() == (before[-8:] or [i])


def test_more_rounds_bring_it_nearer_to_the_one_bucket():
    x, mask = tokens(128)
    whole = matrix(make("reformer", {"bucket_size": 128}), x, mask)
    errors = [
        (matrix(make("reformer", {"bucket_size": 8, "num_hashes": rounds}), x, mask) - whole)
        .abs()
        .sum()
        .item()
        for rounds in (1, 4, 16)
    ]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 0.5 * errors[0]


def test_near_directions_share_a_bucket_and_opposite_ones_do_not():
    direction = torch.randn(1, 1, 1, 16, generator=torch.Generator().manual_seed(0))
    q = torch.cat([direction, 3.0 * direction, -direction], dim=2).expand(-1, -1, 3, -1)
    rotations = torch.randn(1, 50, 16, 2, generator=torch.Generator().manual_seed(1))
    mask = torch.ones(1, 3, dtype=torch.bool)
    buckets = hash_tokens(q, mask, rotations, digits(torch.tensor([3]), 1))[:, 0, 0]
    assert torch.equal(buckets[:, 0], buckets[:, 1])
    assert (buckets[:, 0] != buckets[:, 2]).all()


@pytest.mark.parametrize("length", [1, 64, 65, 128, 1000, 8192, 8193, 100_000])
def test_there_are_about_as_many_buckets_as_the_length_asks_for(length):
    low, high = digits(torch.tensor([length]), 64)[:, 0].tolist()
    wanted = -(-length // 64)
    assert low <= 128
    assert wanted <= low * high <= max(wanted, 1.1 * wanted + 2)


def test_rotations_follow_the_step_in_training_only():
    mixer = make("reformer", {"bucket_size": 8})
    x, mask = tokens(61)
    fixed = mixer(x, mask)

    def trained(step):
        mixer.train().begin_step(step)
        y = mixer(x, mask)
        assert torch.equal(mixer.eval()(x, mask), fixed)
        return y

    assert torch.equal(trained(3), trained(3))
    assert not torch.equal(trained(3), trained(4))


def test_layers_and_heads_hash_differently():
    sizes = {"width": 16, "num_heads": 2, "max_length": 64, "depth": 2}
    lower, upper = (build("reformer", layer=layer, **sizes).rotations for layer in (0, 1))
    assert not torch.equal(lower, upper)
    assert not torch.equal(lower[0], lower[1])


def test_a_gap_of_padding_is_as_if_it_were_cut_out():
    mixer = make("reformer", {"bucket_size": 8})
    x, mask = tokens(61)
    mask[:, 20:30] = False
    cut = mixer(x[:, mask[0]], mask[:, mask[0]])
    torch.testing.assert_close(mixer(x, mask)[mask], cut[0])


@pytest.mark.parametrize("length", [1, 63, 64, 65, 1000, 4097])
def test_with_its_defaults_it_takes_any_length(length):
    mixer = build("reformer", width=16, num_heads=2, max_length=4097)
    y = mixer(torch.randn(1, length, 16), torch.ones(1, length, dtype=torch.bool))
    assert y.shape == (1, length, 16)
    assert y.isfinite().all()


def test_very_long_queries_do_not_overflow():
    mixer = build("reformer", width=16, num_heads=2, max_length=64, options={"bucket_size": 8})
    x = (1e4 * torch.randn(1, 64, 16)).requires_grad_()
    y = mixer(x, torch.ones(1, 64, dtype=torch.bool))
    y.sum().backward()
    assert y.isfinite().all()
    assert x.grad.isfinite().all()


@pytest.mark.shapes
@pytest.mark.parametrize("causal", [False, True])
def test_a_chunk_at_a_time_gives_what_all_chunks_at_once_give(causal, monkeypatch):
    rng = torch.Generator().manual_seed(0)
    buckets = torch.randint(5, (3, 4, 61), generator=rng)
    rounds = sort_in_rounds(buckets, 8, causal)
    parts = [
        torch.randn(2, 2, 61, 6, generator=rng, dtype=torch.float64).requires_grad_()
        for _ in range(3)
    ]
    found = []
    for logits in (1, 1 << 20):
        monkeypatch.setattr(lsh_attention, "LOGITS", logits)
        y = attend_in_rounds(*parts, rounds)
        found.append((y, *torch.autograd.grad(y.square().sum(), parts)))
    torch.testing.assert_close(*found)

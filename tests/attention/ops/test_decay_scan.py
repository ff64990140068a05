import pytest
import torch

from longarena.attention.ops.decay_scan import ScanPlan, decay_scan

HEADS, SIZE = 3, 4
# a decay for each head, for each token, for each token and channel
KINDS = {"head": (1, HEADS, 1, 1), "token": (2, HEADS, 37, 1), "channel": (2, HEADS, 37, SIZE)}


def draw(*shape, seed=0, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=dtype)


def decays(shape, seed):
    return -draw(*shape, seed=seed).square()


def make(kind, both_ways, length=37, heads_of_keys=HEADS):
    shape = list(KINDS[kind])
    shape[2] = min(shape[2], length)
    q, k = (draw(2, heads_of_keys, length, SIZE, seed=seed) for seed in (1, 2))
    return ScanPlan(q, k, decays(shape, 3), decays(shape, 4) if both_ways else None)


def written_out(plan, v):
    """The sum over all pairs of tokens, with the whole tensor of decays."""
    length = v.shape[2]
    weights = torch.zeros(*v.shape[:3], length, plan.q.shape[-1], dtype=v.dtype)
    forward = plan.forward.expand(*v.shape[:3], plan.q.shape[-1])
    for i in range(length):
        for j in range(i + 1):
            weights[:, :, i, j] = forward[:, :, j + 1 : i + 1].sum(2).exp()
    if plan.backward is not None:
        backward = plan.backward.expand_as(forward)
        for i in range(length):
            for j in range(i + 1, length):
                weights[:, :, i, j] = backward[:, :, i:j].sum(2).exp()
    return torch.einsum("bhid,bhjd,bhijd,bhje->bhie", plan.q, plan.k, weights, v)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("both_ways", [False, True])
@pytest.mark.parametrize("chunk", [1, 8, 64])
def test_it_is_the_sum_over_all_pairs_of_tokens(kind, both_ways, chunk):
    plan, v = make(kind, both_ways), draw(2, HEADS, 37, 5)
    torch.testing.assert_close(decay_scan(plan, v, chunk), written_out(plan, v))


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_are_those_of_the_sum(kind):
    plan, v = make(kind, both_ways=True), draw(2, HEADS, 37, 5)
    inputs = [t.requires_grad_() for t in (plan.q, plan.k, plan.forward, plan.backward, v)]
    direction = draw(2, HEADS, 37, 5, seed=9)
    ours, theirs = (
        torch.autograd.grad((function(plan, v) * direction).sum(), inputs)
        for function in (lambda *parts: decay_scan(*parts, 8), written_out)
    )
    torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("length", [1, 2, 15, 16, 17, 37])
def test_any_length_can_be_cut_into_chunks(kind, length):
    plan, v = make(kind, both_ways=True, length=length), draw(2, HEADS, length, 5)
    torch.testing.assert_close(decay_scan(plan, v, 16), written_out(plan, v))


@pytest.mark.parametrize("kind", ["head", "token"])
def test_heads_can_share_queries_and_keys(kind):
    plan, v = make(kind, both_ways=True, heads_of_keys=1), draw(2, HEADS, 37, 5)
    q, k = (t.expand(-1, HEADS, -1, -1) for t in (plan.q, plan.k))
    alone = ScanPlan(q, k, plan.forward, plan.backward)
    torch.testing.assert_close(decay_scan(plan, v, 8), decay_scan(alone, v, 8))


def test_without_decay_nothing_is_forgotten():
    q, k = (draw(1, 2, 50, SIZE, seed=seed) for seed in (1, 2))
    v, none = draw(1, 2, 50, 5), torch.zeros(1, 2, 1, 1, dtype=torch.float64)
    torch.testing.assert_close(decay_scan(ScanPlan(q, k, none, none), v, 16), q @ k.mT @ v)


@pytest.mark.parametrize("step", [-50.0, -1e4, -torch.inf])
@pytest.mark.parametrize("size", [1, SIZE])
def test_with_the_strongest_decay_a_token_sees_itself_alone(step, size):
    q, k = (draw(1, 2, 300, SIZE, seed=seed, dtype=torch.float32) for seed in (1, 2))
    v = draw(1, 2, 300, 5, dtype=torch.float32).requires_grad_()
    steps = torch.full((1, 2, 300, size), step).requires_grad_()
    y = decay_scan(ScanPlan(q, k, steps, steps), v)
    torch.testing.assert_close(y, (q * k).sum(-1, keepdim=True) * v)
    for gradient in torch.autograd.grad(y.sum(), [v, steps]):
        assert gradient.isfinite().all()


@pytest.mark.parametrize("size", [1, SIZE])
def test_a_strong_decay_leaves_no_error_behind_it(size):
    q, k = (draw(1, 2, 64, SIZE, seed=seed, dtype=torch.float32) for seed in (1, 2))
    v = draw(1, 2, 64, 5, dtype=torch.float32)
    steps = -0.01 * draw(1, 2, 64, size, dtype=torch.float32).square()
    steps[:, :, 20] = -1e6
    rest = ScanPlan(q[:, :, 20:], k[:, :, 20:], steps[:, :, 20:])
    y = decay_scan(ScanPlan(q, k, steps), v)
    torch.testing.assert_close(y[:, :, 20:], decay_scan(rest, v[:, :, 20:]), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("size", [1, 2])
def test_single_precision_is_enough_for_16384_tokens(size):
    q, k = (draw(1, 2, 16_384, 2, seed=seed) for seed in (1, 2))
    v = draw(1, 2, 16_384, 2)
    # from decays that keep a token for the whole row to some that forget everything at once
    steps = -(draw(1, 2, 16_384, size, seed=3) * 4 - 9).exp()
    exact = decay_scan(ScanPlan(q, k, steps, steps), v)
    single = ScanPlan(q.float(), k.float(), steps.float(), steps.float())
    error = (decay_scan(single, v.float()) - exact).abs().max()
    assert error < 1e-5 * exact.abs().max()


def test_padding_needs_no_decay_of_its_own():
    q, k = (draw(1, 2, 60, SIZE, seed=seed) for seed in (1, 2))
    v, steps = draw(1, 2, 60, 5), decays((1, 2, 60, SIZE), 3)
    k[:, :, 40:] = 0.0
    y = decay_scan(ScanPlan(q, k, steps, steps), v, 16)[:, :, :40]
    short = ScanPlan(q[:, :, :40], k[:, :, :40], steps[:, :, :40], steps[:, :, :40])
    torch.testing.assert_close(y, decay_scan(short, v[:, :, :40], 16))


def test_only_what_was_given_is_kept_for_the_backward_pass():
    shape = (1, 2, 4096, 8)
    q, k, v = (draw(*shape, seed=seed).requires_grad_() for seed in range(3))
    steps = decays(shape, 3).requires_grad_()
    kept = {}

    def keep(tensor):
        kept[tensor.untyped_storage().data_ptr()] = tensor.numel()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        y = decay_scan(ScanPlan(q, k, steps, steps), v)
    y.sum().backward()
    assert sum(kept.values()) <= 4 * q.numel()

import copy
import math

import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from attention.cases import HEADS, make, tokens
from attention.definitions.pieces import heads, masked_softmax, merge
from model.cases import classifier, ids
from torch.utils.checkpoint import checkpoint
from training.runs import small_recipe
from training.test_loop import train_until

from longarena.attention import build, matrix
from longarena.attention.routing import moved, sums_by_cluster
from longarena.errors import UserError
from longarena.progress import SILENT
from longarena.training.checkpoint import latest
from longarena.training.folder import RunFolder
from longarena.training.loop import train

OPTIONS = {"clusters": 4, "block": 8, "decay": 0.5}


def trainee():
    return make("routing", OPTIONS).train()


def after_step(mixer, *batches, run=None):
    """The centroids after one step of a copy of the mixer, with a backward pass per batch."""
    mixer = copy.deepcopy(mixer)
    mixer.begin_step(0)
    for x, mask in batches:
        leaf = x.clone().requires_grad_()
        y = mixer(leaf, mask) if run is None else run(mixer, leaf, mask)
        y[mask].square().sum().backward()
    mixer.end_step()
    return mixer.centroids


def written_out(mixer, x, mask):
    """All queries to all keys, both normed, as one cluster without local heads has it."""
    q, k, v = (heads(x, linear.weight, HEADS) for linear in (mixer.query, mixer.key, mixer.value))
    q, k = (torch.nn.functional.layer_norm(t, (8,), eps=1e-6) for t in (q, k))
    weights = masked_softmax(q @ k.transpose(-1, -2) / math.sqrt(8), mask[:, None, None, :])
    return merge(weights @ v, mixer.output.weight)


def test_one_cluster_without_local_heads_is_softmax_of_normed_queries_and_keys():
    mixer = make("routing", {"clusters": 1, "local_share": 0.0})
    x, mask = tokens(61, 40)
    torch.testing.assert_close(mixer(x, mask)[mask], written_out(mixer, x, mask)[mask])


def test_local_heads_are_plain_attention():
    mixer = make("routing", {"block": 100})
    x, mask = tokens(61)
    q, k = (heads(x, linear.weight, HEADS)[0, 0] for linear in (mixer.query, mixer.key))
    expected = (q @ k.T / math.sqrt(8)).softmax(dim=-1)
    torch.testing.assert_close(matrix(mixer, x, mask)[0, 0], expected)


def names(mixer):
    return {name.removesuffix(".weight") for name, _ in mixer.named_parameters()}


def test_queries_of_routed_heads_are_keys_too_only_when_causal():
    mixer = make("routing", {})
    assert names(mixer) == {"query", "key", "value", "output"}
    assert mixer.key.weight.shape == (16, 16)
    mixer = make("routing", {}, causal=True)
    assert names(mixer) == {"query", "key", "value", "output"}
    assert mixer.key.weight.shape == (8, 16)
    mixer = make("routing", {"local_share": 0.0}, causal=True)
    assert names(mixer) == {"query", "value", "output"}


def test_a_token_does_not_mostly_see_itself():
    mixer = make("routing", {"clusters": 4, "local_share": 0.0})
    own = matrix(mixer, *tokens(128)).diagonal(dim1=-2, dim2=-1)
    assert own.mean() < 0.1


def test_when_causal_a_token_sees_the_last_of_its_nearest_centroid():
    mixer = make("routing", {"clusters": 8, "local_share": 0.0}, causal=True)
    x, mask = tokens(100)
    seen = matrix(mixer, x, mask)[0] > 0
    q = torch.nn.functional.layer_norm(mixer.split(mixer.query(x)), (8,))[0]
    nearest = (mixer.centroids @ q.mT).argmax(dim=1)
    for head, cluster in enumerate(nearest):
        for i in range(100):
            members = [j for j in range(i + 1) if cluster[j] == cluster[i]]
            assert seen[head, i].nonzero().flatten().tolist() == members[-16:]


def test_half_of_the_heads_are_local():
    mixer = build("routing", width=32, num_heads=4, max_length=64, options={"block": 8})
    x, mask = torch.randn(1, 64, 32), torch.ones(1, 64, dtype=torch.bool)
    number = torch.arange(64) // 8
    is_far = (number[:, None] - number).abs() > 1
    reach = (matrix(mixer, x, mask)[0] * is_far).sum(dim=(1, 2))
    assert torch.equal(reach > 0, torch.tensor([False, False, True, True]))


def test_what_no_cluster_called_gets_nothing_and_the_rest_a_mean():
    mixer = make("routing", {"clusters": 4, "local_share": 0.0})
    total = matrix(mixer, *tokens(61)).sum(dim=-1)
    found = {round(value, 9) for value in total.unique().tolist()}
    assert found == {0.0, 1.0}


def test_centroids_move_at_the_end_of_a_training_step_only():
    mixer, (x, mask) = trainee(), tokens(61, 40)
    start = mixer.centroids.clone()
    mixer(x, mask).sum().backward()
    assert torch.equal(mixer.centroids, start)
    mixer.end_step()
    moved_once = mixer.centroids.clone()
    assert not torch.allclose(moved_once, start)
    mixer.end_step()
    assert torch.equal(mixer.centroids, moved_once)
    mixer.eval()(x, mask)
    mixer.end_step()
    assert torch.equal(mixer.centroids, moved_once)


def test_centroids_turn_to_the_mean_of_their_nearest_queries():
    centroids = torch.eye(3)[None]
    q = torch.tensor([[0.0, 3.0, 3.0], [4.0, 0.0, 3.0], [2.0, 0.0, -3.0], [9.0, 9.0, 0.0]])
    mask = torch.tensor([[True, True, True, False]])
    sums = sums_by_cluster(q[None, None], (centroids @ q.mT)[None], mask)
    assert sums[0].tolist() == [[6.0, 0.0, 0.0], [0.0, 3.0, 3.0], [0.0, 0.0, 0.0]]
    half = math.sqrt(0.5)
    expected = torch.tensor([[1.0, 0.0, 0.0], [0.0, 0.5 + half / 2, half / 2], [0.0, 0.0, 1.0]])
    found = moved(centroids, sums, decay=0.5)[0]
    torch.testing.assert_close(found, expected / expected.norm(dim=-1, keepdim=True))


def test_keys_move_centroids_as_queries_do():
    mixer, (x, mask) = trainee(), tokens(61, 40)
    expected = after_step(mixer, (x, mask))
    mixer.query.weight, mixer.key.weight = mixer.key.weight, mixer.query.weight
    torch.testing.assert_close(after_step(mixer, (x, mask)), expected)
    torch.nn.init.normal_(mixer.query.weight)
    assert not torch.allclose(after_step(mixer, (x, mask)), expected)


def test_padding_moves_no_centroid():
    mixer, (x, mask) = trainee(), tokens(61, 40)
    noisy = torch.where(mask[..., None], x, 100.0)
    torch.testing.assert_close(after_step(mixer, (noisy, mask)), after_step(mixer, (x, mask)))


def test_a_batch_in_pieces_moves_them_as_the_whole():
    mixer, (x, mask) = trainee(), tokens(61, 40, 9, 30)
    whole = after_step(mixer, (x, mask))
    pieces = after_step(mixer, (x[:2], mask[:2]), (x[2:], mask[2:]))
    torch.testing.assert_close(pieces, whole)
    assert not torch.allclose(after_step(mixer, (x[:2], mask[:2])), whole)


@pytest.mark.parametrize("reentrant", [True, False])
def test_a_pass_that_is_computed_again_counts_once(reentrant):
    mixer, (x, mask), other = trainee(), tokens(61, 40), tokens(61, 50, seed=1)

    def first_again(mixer, x, mask):
        if mask[1].sum() == 40:
            return checkpoint(mixer, x, mask, use_reentrant=reentrant)
        return mixer(x, mask)

    expected = after_step(mixer, (x, mask), other)
    torch.testing.assert_close(after_step(mixer, (x, mask), other, run=first_again), expected)


def test_reversible_layers_move_them_once():
    model = classifier("routing", options=OPTIONS, reversible=True).double()
    start = [mixer.centroids.clone() for mixer in model.backbone.encoder.mixers()]
    model.begin_step(0)
    loss = model(ids(61, 40)).sum()
    sums = [mixer.gathered.clone() for mixer in model.backbone.encoder.mixers()]
    loss.backward()
    assert all(
        torch.equal(mixer.gathered, gathered)
        for mixer, gathered in zip(model.backbone.encoder.mixers(), sums, strict=True)
    )
    model.end_step()
    assert not any(
        torch.equal(mixer.centroids, before)
        for mixer, before in zip(model.backbone.encoder.mixers(), start, strict=True)
    )


def test_a_resumed_model_goes_on_to_the_same_bits():
    def steps(mixer, first, last):
        for number in range(first, last):
            mixer.begin_step(number)
            mixer(*tokens(61, 40, seed=number))
            mixer.end_step()
        return mixer

    unbroken = steps(trainee(), 0, 6)
    stopped = steps(trainee(), 0, 3)
    resumed = make("routing", OPTIONS, seed=7).train()
    resumed.load_state_dict(stopped.state_dict())
    assert torch.equal(steps(resumed, 3, 6).centroids, unbroken.centroids)


def test_a_stopped_run_ends_like_an_unbroken_one(tmp_path):
    recipe = small_recipe("routing", "model.decay=0.5", "model.block=8")
    train_until(5, recipe, tmp_path / "broken")
    for name in ("unbroken", "broken"):
        train(recipe, tmp_path / name)
    unbroken, broken = (
        latest(
            RunFolder.of(tmp_path / name, recipe).checkpoints, SILENT, lambda found: found.tensors
        )
        for name in ("unbroken", "broken")
    )
    assert any("centroids" in key for key in unbroken)
    assert all(torch.equal(broken[key], value) for key, value in unbroken.items())


def one_device(rank, path):
    dist.init_process_group("gloo", init_method=f"file://{path}/meet", rank=rank, world_size=2)
    x, mask = tokens(61, 40, 9, 30)
    rows = slice(2 * rank, 2 * rank + 2)
    # the second device computes nothing in the second step
    mixer = trainee()
    for batches in ([(x[rows], mask[rows])], [(x[:2], mask[:2])] if rank == 0 else []):
        mixer.centroids.copy_(after_step(mixer, *batches))
    torch.save(mixer.centroids, f"{path}/{rank}")
    dist.destroy_process_group()


def test_devices_agree_on_what_one_device_would_find(tmp_path):
    # new processes would first import torch
    mp.start_processes(one_device, (tmp_path,), nprocs=2, start_method="fork")
    first, second = (torch.load(tmp_path / str(rank)) for rank in (0, 1))
    assert torch.equal(first, second)
    mixer, (x, mask) = trainee(), tokens(61, 40, 9, 30)
    for batch in ((x, mask), (x[:2], mask[:2])):
        mixer.centroids.copy_(after_step(mixer, batch))
    torch.testing.assert_close(first, mixer.centroids)


def test_training_brings_centroids_nearer_to_the_queries():
    mixer, (x, mask) = trainee(), tokens(128, 128)

    def nearness():
        q = torch.nn.functional.layer_norm(mixer.split(mixer.query(x)), (8,))[:, 1:]
        return (mixer.centroids @ q.mT).amax(dim=2).mean().item()

    before = nearness()
    for number in range(10):
        mixer.begin_step(number)
        mixer(x, mask)
        mixer.end_step()
    assert nearness() > 1.1 * before


def test_layers_and_heads_start_from_other_centroids():
    sizes = {"width": 16, "num_heads": 2, "max_length": 64, "depth": 2}
    options = {"local_share": 0.0}
    lower, upper = (build("routing", layer=i, options=options, **sizes).centroids for i in (0, 1))
    assert not torch.equal(lower, upper)
    assert not torch.equal(lower[0], lower[1])


@pytest.mark.parametrize("options", [{"clusters": 0}, {"decay": 1.5}, {"local_share": 1.0}])
def test_what_cannot_be_honoured_is_refused(options):
    with pytest.raises(UserError, match=next(iter(options))):
        build("routing", width=16, num_heads=2, max_length=64, options=options)

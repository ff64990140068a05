import torch

from longarena.seeding import derive, numpy_rng, seeded, torch_rng


def test_a_purpose_has_one_stream_on_every_machine():
    assert derive(7, "shuffle", 3) == 9152671491432111787


def test_purposes_do_not_share_streams():
    draws = {derive(0, "a"), derive(0, "b"), derive(1, "a"), derive(0, "a", 0), derive(0, "a", 1)}
    assert len(draws) == 5


def test_generators_repeat_themselves():
    assert numpy_rng(1, "x").random() == numpy_rng(1, "x").random()
    first, second = (torch.rand(3, generator=torch_rng(1, "x")) for _ in range(2))
    assert torch.equal(first, second)


def test_a_seeded_block_leaves_the_global_stream_alone():
    torch.manual_seed(5)
    expected = torch.rand(2)
    torch.manual_seed(5)
    with seeded(0, "anything"):
        torch.rand(100)
    assert torch.equal(torch.rand(2), expected)

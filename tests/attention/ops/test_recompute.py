import torch

from longarena.attention.ops.recompute import recomputed


class Maker:
    """Gathers rows, and counts how often."""

    def __init__(self, source):
        self.source, self.calls = source, 0

    def __call__(self):
        self.calls += 1
        return self.source[::2].clone()


def test_what_was_gathered_is_gathered_again_for_the_gradient():
    source = torch.randn(6, 3, dtype=torch.float64)
    make, weight = Maker(source), torch.randn(3, 2, dtype=torch.float64, requires_grad=True)
    gathered = make()
    with recomputed((gathered, make)):
        y = gathered @ weight
    gathered.fill_(torch.nan)  # nothing reads it any more
    y.sum().backward()
    torch.testing.assert_close(weight.grad, source[::2].sum(dim=0)[:, None].expand(3, 2))
    assert make.calls == 2


def test_a_kernel_may_save_it_in_another_shape():
    make = Maker(torch.randn(6, 4, dtype=torch.float64))
    gathered = make()
    weight = torch.randn(3, 2, dtype=torch.float64, requires_grad=True)
    with recomputed((gathered, make)):
        y = gathered.view(4, 3) @ weight
    y.sum().backward()
    assert make.calls == 2
    expected = make().view(4, 3).sum(dim=0)[:, None].expand(3, 2)
    torch.testing.assert_close(weight.grad, expected)


def test_another_part_of_the_same_storage_is_not_taken_for_it():
    both = torch.arange(12.0).view(2, 6)
    make = Maker(both)
    weight = torch.ones(6, requires_grad=True)
    with recomputed((both[0], make)):
        y = both[1] * weight
    y.sum().backward()
    assert weight.grad.tolist() == both[1].tolist()
    assert make.calls == 0

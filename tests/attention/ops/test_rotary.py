import pytest
import torch
from attention.definitions.pieces import rotation

from longarena.attention.ops.rotary import rotate_by_position


def heads(length, size, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(2, 3, length, size, generator=generator, dtype=torch.float64)


@pytest.mark.parametrize("size", [2, 8])
@pytest.mark.parametrize("step", [1, 4])
def test_every_pair_of_channels_is_turned_by_a_matrix_of_its_own(size, step):
    x, turned = heads(9, size), rotate_by_position(heads(9, size), step)
    for position in range(9):
        for pair in range(size // 2):
            channels = slice(2 * pair, 2 * pair + 2)
            angle = position * step * 10_000 ** (-2 * pair / size)
            expected = torch.einsum("ij,bhj->bhi", rotation(angle), x[:, :, position, channels])
            torch.testing.assert_close(turned[:, :, position, channels], expected)


def test_products_depend_on_distances_alone():
    q, k = (heads(1, 8, seed).expand(-1, -1, 50, -1).contiguous() for seed in (0, 1))
    products = rotate_by_position(q) @ rotate_by_position(k).mT
    for distance in (-30, 0, 7):
        diagonal = products.diagonal(distance, dim1=-2, dim2=-1)
        torch.testing.assert_close(diagonal, diagonal[..., :1].expand_as(diagonal))
    assert products[..., 0, 0].ne(products[..., 0, 7]).all()


def test_the_first_position_is_not_turned():
    x = heads(3, 8)
    assert torch.equal(rotate_by_position(x)[:, :, 0], x[:, :, 0])


def test_lengths_stay_as_they_are():
    x = heads(100, 8)
    torch.testing.assert_close(rotate_by_position(x).norm(dim=-1), x.norm(dim=-1))


def test_the_gradient_is_turned_back():
    x = heads(5, 4).requires_grad_()
    assert torch.autograd.gradcheck(rotate_by_position, x)


def test_half_precision_is_turned_in_single_precision():
    x = heads(4096, 8)
    exact = rotate_by_position(x)
    half = rotate_by_position(x.bfloat16())
    assert half.dtype == torch.bfloat16
    torch.testing.assert_close(half.double(), exact, rtol=0.02, atol=0.04)


def test_what_a_projection_gives_is_turned_without_changing_its_layout():
    x = torch.randn(2, 7, 3, 8).transpose(1, 2)
    assert rotate_by_position(x).stride() == x.stride()


def test_channels_may_lie_anywhere_in_memory():
    x = heads(5, 4)
    scattered = x.mT.contiguous().mT
    assert torch.equal(rotate_by_position(scattered), rotate_by_position(x))

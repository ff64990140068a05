"""Every mechanism really has the cost that its card claims: counted, not timed."""

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from longarena.attention import MIXERS, build
from longarena.measure.cost import mult_adds

WIDTH, LENGTH = 16, 2048
RATIO_LIMITS = {1.0: 2.1, 1.5: 2.9, 2.0: 4.1}
# log N grows from 11 to 12 as well
LOGARITHMIC_LIMIT = 2.2
CHEAPER_THAN_FULL = [name for name in MIXERS if MIXERS[name].card.exponent < 2]


def step(name, length):
    """One forward and backward pass of a mixer that was made for this length, by its defaults."""
    mixer = build(name, width=WIDTH, num_heads=1, max_length=length)
    x = torch.randn(1, length, WIDTH, requires_grad=True)
    mask = torch.ones(1, length, dtype=torch.bool)
    return lambda: mixer(x, mask).sum().backward()


class LargestTensor(TorchDispatchMode):
    """Remembers the largest tensor that any operation returned."""

    num_elements = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **kwargs or {})
        for leaf in tree_leaves(result):
            if isinstance(leaf, torch.Tensor):
                # a view of a small tensor may look large and hold nothing
                held = leaf.untyped_storage().nbytes() // leaf.element_size()
                self.num_elements = max(self.num_elements, min(leaf.numel(), held))
        return result


def largest_tensor(run):
    with LargestTensor() as watch:
        run()
    return watch.num_elements


@pytest.mark.parametrize("name", MIXERS)
def test_operations_grow_no_faster_than_claimed(name):
    ratio = mult_adds(step(name, 2 * LENGTH)) / mult_adds(step(name, LENGTH))
    card = MIXERS[name].card
    assert ratio <= (LOGARITHMIC_LIMIT if card.time == "N log N" else RATIO_LIMITS[card.exponent])


@pytest.mark.parametrize("name", MIXERS)
def test_every_mechanism_counts_its_projections_at_least(name):
    assert mult_adds(step(name, LENGTH)) > LENGTH * WIDTH**2


@pytest.mark.parametrize("name", CHEAPER_THAN_FULL)
def test_no_tensor_of_half_the_matrix_appears(name):
    assert largest_tensor(step(name, LENGTH)) < LENGTH**2 / 2


def test_the_watcher_sees_a_matrix():
    x = torch.randn(LENGTH, 4, requires_grad=True)
    assert largest_tensor(lambda: (x @ x.T).relu().sum().backward()) == LENGTH**2


def test_the_watcher_is_not_fooled_by_a_view():
    x = torch.randn(LENGTH, 1)
    assert largest_tensor(lambda: x.expand(LENGTH, LENGTH)) == LENGTH

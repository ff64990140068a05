"""Make a tensor again in the backward pass instead of keeping it for that long.

Gathered keys and values are several times as large as the sequences that they come from, and cheap
to gather once more. So what autograd would save of them is replaced by the way to make it.
"""

from collections.abc import Callable, Mapping

from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks


def made_again(makers: Mapping[int, Callable[[], Tensor]]) -> saved_tensors_hooks:
    """Keep no tensor for the backward pass that can be made again, known by its address."""

    def keep(saved: Tensor) -> Callable[[], Tensor]:
        make, size, stride = makers.get(saved.data_ptr()), saved.size(), saved.stride()
        if make is None:
            alone = saved.detach()  # or a saved output would keep the graph that keeps it
            return lambda: alone
        # a kernel may have saved it in another shape, but over the same elements
        return lambda: make().as_strided(size, stride)

    return saved_tensors_hooks(keep, lambda kept: kept())

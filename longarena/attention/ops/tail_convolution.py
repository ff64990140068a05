"""A short causal convolution and a SiLU of one chunk, given the last tokens of the chunk before.

    y_i = silu(sum_s w_s x_(i - s))        s = 0 .. size - 1

Every channel is filtered by itself. Tokens before the chunk come from its `tail`, which has the
last size - 1 of them. The kernel is written as in nn.Conv1d: its last weight is for the token
itself. Several sets of rows stand side by side, each with a kernel of its own.

Cost:   time O(c size) and memory O(c) per channel, for a chunk of c tokens.
Choice: no autograd, for a caller whose backward pass walks through the chunks by itself.
"""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

Chunk = Float[Tensor, "sets batch tokens channels"]
Tail = Float[Tensor, "sets batch tail channels"]
Kernel = Float[Tensor, "sets size channels"]


class TailConvolution:
    """The convolution of one chunk: its answers, the tail that it leaves, and its gradients."""

    def __init__(self, x: Chunk, tail: Tail, kernel: Kernel) -> None:
        self.x, self.tail, self.kernel = x, tail, kernel
        self.shifts = [_Shift(s, x.shape[2], tail.shape[2]) for s in range(1, tail.shape[2] + 1)]
        self.sums = x * kernel[:, None, -1:]
        for shift in self.shifts:
            weights = kernel[:, None, None, shift.place]
            self.sums[:, :, shift.inside].addcmul_(x[:, :, shift.seen], weights)
            self.sums[:, :, shift.front].addcmul_(tail[:, :, shift.seen_in_tail], weights)

    def y(self) -> Chunk:
        """Bend the sums."""
        return F.silu(self.sums)

    def next_tail(self) -> Tail:
        """Take the last tokens; behind a short chunk some are those of the tail before it."""
        tokens, size = self.x.shape[2], self.tail.shape[2]
        return torch.cat([self.tail[:, :, tokens:], self.x[:, :, max(tokens - size, 0) :]], dim=2)

    def back(self, dy: Chunk, dnext: Tail, dx: Chunk) -> tuple[Tail, Kernel]:
        """Write the gradient of x to `dx`; return those of the tail and of the kernel."""
        dsums = torch.ops.aten.silu_backward(dy, self.sums)
        dtail, dkernel = torch.zeros_like(self.tail), torch.empty_like(self.kernel)
        torch.mul(dsums, self.kernel[:, None, -1:], out=dx)
        dkernel[:, -1] = _sum_of_products(dsums, self.x)
        for shift in self.shifts:
            weights = self.kernel[:, None, None, shift.place]
            inside, front = dsums[:, :, shift.inside], dsums[:, :, shift.front]
            dx[:, :, shift.seen].addcmul_(inside, weights)
            dtail[:, :, shift.seen_in_tail].addcmul_(front, weights)
            dkernel[:, shift.place] = _sum_of_products(inside, self.x[:, :, shift.seen])
            dkernel[:, shift.place] += _sum_of_products(front, self.tail[:, :, shift.seen_in_tail])
        tokens, size = self.x.shape[2], self.tail.shape[2]
        dtail[:, :, tokens:] += dnext[:, :, : max(size - tokens, 0)]
        dx[:, :, max(tokens - size, 0) :] += dnext[:, :, max(size - tokens, 0) :]
        return dtail, dkernel


class _Shift:
    """Which tokens look `shift` tokens back, and where they find those: in the chunk or the tail.

    >>> _Shift(2, tokens=3, tail=3).seen_in_tail
    slice(1, 3, None)
    """

    def __init__(self, shift: int, tokens: int, tail: int) -> None:
        num_inside = max(tokens - shift, 0)
        self.place = tail - shift
        self.inside, self.seen = slice(tokens - num_inside, None), slice(0, num_inside)
        self.front = slice(0, tokens - num_inside)
        self.seen_in_tail = slice(self.place, self.place + tokens - num_inside)


def _sum_of_products(a: Chunk, b: Chunk) -> Float[Tensor, "sets channels"]:
    """Sum over rows and tokens: as a product with ones, which is faster than a sum."""
    products = (a * b).flatten(1, 2)
    return (products.new_ones(len(products), 1, products.shape[1]) @ products)[:, 0]

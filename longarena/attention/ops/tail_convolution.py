"""A short causal convolution and a SiLU of some tokens, which begin with those before them.

    y_i = silu(sum_s w_s x_(i - s))        s = 0 .. size - 1

Every channel is filtered by itself. The first size - 1 tokens of x are the last ones of what came
before: the tail. The kernel is written as in nn.Conv1d: its last weight is for the token itself.
Several sets of rows stand side by side, each with a kernel of its own.

Cost:   time O(c size) and memory O(c) per channel, for c tokens.
Choice: tokens stand before rows, so that a shift by a token is one step through memory.
Choice: no autograd, for a caller whose backward pass walks through the tokens by itself.
"""

import torch
from jaxtyping import Float
from torch import Tensor

# the first has the tail, the second does not
Tailed = Float[Tensor, "sets tail_and_tokens batch channels"]
Sums = Float[Tensor, "sets tokens batch channels"]
Kernel = Float[Tensor, "sets size channels"]


class TailConvolution:
    """The convolution before its SiLU, and its gradients."""

    def __init__(self, x: Tailed, kernel: Kernel) -> None:
        self.x = x
        self.weights = kernel[:, :, None, None].unbind(1)
        self.sums = self._seen(x, 0) * self.weights[0]
        for place, weights in enumerate(self.weights[1:], start=1):
            self.sums.addcmul_(self._seen(x, place), weights)

    def back(self, dy: Sums, dx: Tailed) -> Kernel:
        """Write the gradient of x to `dx`, return that of the kernel; `dy` and sums are used up."""
        dsums = torch.ops.aten.silu_backward.grad_input(dy, self.sums, grad_input=dy)
        last = len(self.weights) - 1
        dx[:, :last] = 0
        torch.mul(dsums, self.weights[last], out=self._seen(dx, last))
        for place, weights in enumerate(self.weights[:-1]):
            self._seen(dx, place).addcmul_(dsums, weights)
        found = []
        for place in range(last + 1):
            torch.mul(dsums, self._seen(self.x, place), out=self.sums)
            found.append(_sum_of_tokens(self.sums))
        return torch.stack(found, dim=1)

    def _seen(self, x: Tailed, place: int) -> Sums:
        """Return the tokens that a weight of the kernel meets."""
        return x[:, place : place + x.shape[1] - len(self.weights) + 1]


def _sum_of_tokens(x: Sums) -> Float[Tensor, "sets channels"]:
    """Sum over tokens and rows: as a product with ones, which is faster than a sum."""
    tokens = x.flatten(1, 2)
    return (x.new_ones(len(x), 1, tokens.shape[1]) @ tokens)[:, 0]

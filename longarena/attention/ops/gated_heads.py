"""The norm and the gate after a recurrence, for one chunk: y / sqrt(mean(y^2) + eps) * silu(gate).

Paper:  Zhang and Sennrich (2019), https://arxiv.org/abs/1910.07467; with the gate, Sun et al.
        (2023), https://arxiv.org/abs/2307.08621 (eq. 8)
Cost:   time and memory O(c D), for D channels in all heads and a chunk of c tokens.
Choice: no weights, which can be factors of the linear map that follows.
Choice: no autograd, for a caller whose backward pass walks through the chunks by itself. The same
        as a function with a gradient, for whole rows, is in `gated_norm.py`.
"""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from longarena.attention.ops.gated_norm import EPSILON

Heads = Float[Tensor, "*heads size"]


class GatedHeads:
    """Heads of root mean square 1, whose channels are opened or closed."""

    def __init__(self, y: Heads, gate: Heads) -> None:
        self.y, self.gate = y, gate
        norms = torch.linalg.vector_norm(y, dim=-1, keepdim=True)
        self.scale = norms.square_().div_(y.shape[-1]).add_(EPSILON).rsqrt_()

    def z(self) -> Heads:
        """Norm the heads and gate them."""
        return F.silu(self.gate).mul_(self.y).mul_(self.scale)

    def back(self, dz: Heads) -> tuple[Heads, Heads, Heads]:
        """Return z again, and the gradients of the heads, laid out as they are, and of the gate."""
        is_open = self.gate.sigmoid()
        swish = self.gate * is_open
        normed = torch.mul(self.y, self.scale, out=torch.empty_like(swish))
        z = normed * swish
        along = (dz * z).mean(-1, keepdim=True)
        dnormed = (dz * swish).addcmul_(normed, along, value=-1)
        # the slope of the swish
        slope = is_open.addcmul_(swish, 1 - is_open)
        dgate = slope.mul_(normed).mul_(dz)
        return z, torch.mul(dnormed, self.scale, out=torch.empty_like(self.y)), dgate

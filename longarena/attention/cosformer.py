"""cosFormer: linear attention that favours near tokens, by a cosine of the distance.

    weight of value j for query i:   relu(q_i) . relu(k_j) cos(a_i - a_j)      a_i = pi/2 i / M

M is the length, so the cosine falls from 1 at the token itself to 0 at the length's distance. It
splits into two products, and so into features of a kernel, twice as many as channels (`kernel.py`):

    cos(a_i - a_j) = cos a_i cos a_j + sin a_i sin a_j
    phi(x_i) = [relu(x_i) cos a_i, relu(x_i) sin a_i]

No angle exceeds pi/2, so the features are positive and no sum loses digits.

Paper:  Qin et al. (2022), https://arxiv.org/abs/2202.08791
Cost:   time O(N d^2), memory O(N d + d^2), per head of size d.
Choice: M is the number of real tokens of a row, as in the authors' code (OpenNLPLab/cosFormer).
        When causal it is the largest length: an earlier token must not learn how many follow.
Choice: a normaliser has the authors' floor of 1e-6. Products of rectified numbers are often zero,
        and a query close to zero in all channels would otherwise have a gradient without bound.
Choice: the cosine tells distances, not directions, so positions are added to the tokens as usual.
Choice: rotary positions turn queries and keys before they are rectified.
"""

import math
from typing import TypeAlias

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from longarena.attention.cards import CARDS
from longarena.attention.kernels import KernelAttention
from longarena.attention.ops.kernel import KernelPlan
from longarena.errors import UserError
from longarena.shapes import Heads, Mask, Tokens

# the cosine and the sine of the angle of every token
Waves: TypeAlias = Float[Tensor, "batch length 2"]
Features: TypeAlias = Float[Tensor, "batch heads length features"]


class Cosformer(KernelAttention):
    """Attention by rectified features; it has no parameters beyond the projections."""

    card = CARDS["cosformer"]
    takes_rotary = True
    is_function = True
    floor = 1e-6

    @property
    def num_features(self) -> int:
        return 2 * self.place.head_size

    def plan(self, x: Tokens, mask: Mask, first: int = 0) -> KernelPlan:
        q, k = self.queries(x, first), self.keys(x, first)
        angles = self.angles(mask, torch.promote_types(q.dtype, torch.float32), first)
        waves = torch.stack([angles.cos(), angles.sin()], dim=-1).to(q.dtype)
        heard = waves * mask[..., None]
        return KernelPlan(features(q, waves), features(k, heard))

    def angles(
        self, mask: Mask, dtype: torch.dtype, first: int = 0
    ) -> Float[Tensor, "batch length"]:
        """Give the angle of every token: 0 at the beginning, pi/2 just behind the end."""
        places = torch.arange(first, first + mask.shape[1], device=mask.device)
        positions = places.to(dtype).expand(mask.shape)
        if self.place.causal:
            self._check_length(first + mask.shape[1])
            return math.pi / 2 * positions / self.place.max_length
        return math.pi / 2 * positions / mask.sum(dim=1, keepdim=True).clamp_min(1)

    def _check_length(self, length: int) -> None:
        if length > self.place.max_length:
            raise UserError(
                f"the cosine of cosformer reaches {self.place.max_length:,} tokens; generate "
                "fewer, or train it with a longer task.length"
            )


def features(x: Heads, waves: Waves) -> Features:
    """Rectify the channels of each head, and weigh them by the cosine and by the sine.

    >>> x = torch.tensor([3.0, -1.0]).expand(1, 1, 1, 2)
    >>> features(x, torch.tensor([0.5, 0.25]).expand(1, 1, 2))[0, 0, 0].tolist()
    [1.5, 0.0, 0.75, 0.0]
    """
    positive = F.relu(x.contiguous())  # in another order every product would copy the features
    return (positive[..., None, :] * waves[:, None, ..., None]).flatten(-2)

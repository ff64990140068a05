"""Nystromformer: reconstruct the attention matrix from a few of its rows and columns.

A row of n tokens is cut into m segments, whose mean queries and keys are its landmarks Q~ and K~:

    y = softmax(Q K~^T) Z softmax(Q~ K^T) V + convolve(V)

Products of queries and keys are divided by sqrt(d). The convolution has one kernel for each head
and keeps what is local, which the landmarks blur. Z is the pseudo-inverse of A = softmax(Q~ K~^T),
found in six iterations that begin with A^T / (the largest sum of a column of A):

    Z <- Z (13 I - A Z (15 I - A Z (7 I - A Z))) / 4

Paper:  Xiong et al. (2021), https://arxiv.org/abs/2102.03902
Cost:   time O(N m d + m^3), memory O(N d + N m + m^2), per head of size d.
Choice: a row has min(landmarks, n) segments of its n real tokens, whose sizes differ by one at
        most. The authors' code (mlpen/Nystromformer) pads to a multiple of the landmarks.
Choice: a row with no more tokens than landmarks has its tokens as landmarks and exact weights. The
        authors' code does so where the numbers are equal, and with more landmarks fails.
Choice: the iteration starts from the largest sum of each row and head by itself, the second option
        of the authors' code. The first takes the largest of the whole batch, so that a row would
        depend on its neighbours.
Choice: kernels start as the authors' do, uniform up to 1 / sqrt(conv).
Choice: rotary positions turn queries and keys before the means are taken.
"""

import math
from dataclasses import dataclass
from typing import TypeAlias

import torch
import torch.nn.functional as F
from einops import rearrange
from jaxtyping import Bool, Float
from pydantic import Field, field_validator
from torch import Tensor, nn

from longarena.attention.base import Attention, Mixer, Place
from longarena.attention.cards import CARDS
from longarena.attention.ops.convolution import Convolving, centred, convolve
from longarena.attention.ops.visible import visible_keys
from longarena.options import Options
from longarena.shapes import Heads, Mask, Tokens, Values

ITERATIONS = 6

Landmarks: TypeAlias = Float[Tensor, "batch heads landmarks size"]
Square: TypeAlias = Float[Tensor, "batch heads landmarks landmarks"]
LandmarkMask: TypeAlias = Bool[Tensor, "batch landmarks"]
Segments: TypeAlias = Bool[Tensor, "batch landmarks length"]


class NystromOptions(Options):
    """How many `landmarks` a row has, and how many tokens a kernel of the convolution; 0: none."""

    landmarks: int = Field(64, gt=0)
    conv: int = Field(33, ge=0)

    @field_validator("conv")
    @classmethod
    def _has_a_centre(cls, conv: int) -> int:
        return centred(conv) if conv else conv


@dataclass(frozen=True)
class NystromPlan:
    """Queries and keys, those of the landmarks, which of these exist, and the inverse."""

    q: Heads
    k: Heads
    landmark_q: Landmarks
    landmark_k: Landmarks
    inverse: Square
    mask: Mask
    landmark_mask: LandmarkMask


class Convolution(Convolving):
    """One kernel for each head, the same for all its channels."""

    def __init__(self, num_heads: int, size: int) -> None:
        super().__init__()
        bound = 1 / math.sqrt(size)
        self.kernel = nn.Parameter(torch.empty(num_heads, size).uniform_(-bound, bound))

    def forward(self, v: Values) -> Values:
        y = convolve(rearrange(v, "b h n d -> b n (h d)"), self.kernel[None, None])
        return rearrange(y, "b n (h d) -> b h n d", h=v.shape[1])


class Nystrom(Attention[NystromPlan]):
    """Multi-head attention by landmarks, with a convolution of the values beside it."""

    card = CARDS["nystrom"]
    options_type = NystromOptions
    takes_rotary = True
    is_function = True

    def __init__(
        self, place: Place, options: NystromOptions, previous: Mixer | None = None
    ) -> None:
        super().__init__(place, options, previous)
        self.num_landmarks = options.landmarks
        self.convolution = Convolution(place.num_heads, options.conv) if options.conv else None

    def plan(self, x: Tokens, mask: Mask) -> NystromPlan:
        q, k = self.queries(x), self.keys(x)
        segments = cut(mask, min(self.num_landmarks, x.shape[1]))
        sizes = segments.sum(dim=-1, keepdim=True)
        shares = segments.to(x.dtype) / sizes.clamp_min(1)
        landmark_q, landmark_k = self.means(q, shares), self.means(k, shares)
        landmark_mask = visible_keys(sizes.squeeze(-1) > 0)
        logits = landmark_q @ landmark_k.mT / math.sqrt(q.shape[-1])
        weights = logits.masked_fill(~landmark_mask[:, None, None], -math.inf).softmax(dim=-1)
        inverse = pseudo_inverse(weights)
        return NystromPlan(q, k, landmark_q, landmark_k, inverse, mask, landmark_mask)

    def means(self, x: Heads, shares: Float[Tensor, "batch landmarks length"]) -> Landmarks:
        """Take the mean of every segment; that of an empty one is zero."""
        return self.split(shares @ rearrange(x, "b h n d -> b n (h d)"))

    def apply(self, plan: NystromPlan, v: Values) -> Values:  # type: ignore[override]
        v = v.masked_fill(~plan.mask[:, None, :, None], 0.0)
        num_landmarks = plan.landmark_mask.shape[1]
        read = softmax_attention(plan.landmark_q, plan.k, v, plan.mask)
        # where every token is a landmark, its value is what the landmark has to say
        is_exact = (plan.mask.sum(dim=1) <= num_landmarks)[:, None, None, None]
        said = torch.where(is_exact, v[:, :, :num_landmarks], plan.inverse @ read)
        y = softmax_attention(plan.q, plan.landmark_k, said, plan.landmark_mask)
        return y if self.convolution is None else y + self.convolution(v)


def softmax_attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    """Attend by softmax, from all tokens to landmarks or the other way."""
    return F.scaled_dot_product_attention(q, k, v, attn_mask=visible_keys(mask)[:, None, None])


def cut(mask: Mask, most: int) -> Segments:
    """Cut the real tokens of each row into at most so many segments of almost the same size.

    >>> cut(torch.ones(1, 5, dtype=torch.bool), 2).int().tolist()
    [[[1, 1, 1, 0, 0], [0, 0, 0, 1, 1]]]
    """
    num_real = mask.sum(dim=1, keepdim=True).clamp_min(1)
    positions = torch.arange(mask.shape[1], device=mask.device)
    segment = positions * num_real.clamp_max(most) // num_real
    numbers = torch.arange(most, device=mask.device)
    return (segment[:, None] == numbers[:, None]) & mask[:, None]


def pseudo_inverse(a: Square) -> Square:
    """Invert the weights between landmarks by an iteration of third order."""
    eye = torch.eye(a.shape[-1], dtype=a.dtype, device=a.device)
    z = a.mT / a.sum(dim=-2).amax(dim=-1)[..., None, None]
    for _ in range(ITERATIONS):
        az = a @ z
        z = 0.25 * z @ (13 * eye - az @ (15 * eye - az @ (7 * eye - az)))
    return z

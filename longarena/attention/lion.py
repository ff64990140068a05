"""LION-S: linear attention in both directions, with one learned decay per head and token.

    y_i = sum_j M_ij phi(q_i) . phi(k_j) v_j / sum_j M_ij phi(q_i) . phi(k_j)
    M_ij = l_j ... l_(i-1) if j < i, 1 if j = i, l_(i+1) ... l_j if j > i, with l = sigmoid(W x + b)
    phi(x) = silu(x) + 1/2, divided by its length

Positive features make the weights positive, so the normaliser cannot vanish.

Paper:  Afzal et al. (2025), https://arxiv.org/abs/2502.16249
Cost:   time O(N (c d + d^2)), memory O(N d + (N / c) d^2), per head of size d in chunks of c.
Choice: the paper starts from a long memory for the arena (with it 86 on average, without 53), as
        the HiPPO matrices of state spaces give one, but its code for the arena is not published.
        Here b gives the heads memories of 10 tokens to `max_length`, evenly on a log scale: the
        time steps with which state spaces start. The weight starts as in the authors' code.
Choice: nothing is added to the normaliser, and when causal it sums the lower triangle of M alone.
"""

import math
from dataclasses import replace

import torch
import torch.nn.functional as F
from einops import rearrange
from torch import Tensor, nn

from longarena.attention.base import Place
from longarena.attention.ops.decay_scan import ScanPlan, decay_scan
from longarena.attention.ops.kernel import Sums, normalised, with_ones
from longarena.attention.ops.projection import projection
from longarena.attention.ops.scan_decoder import Begin, Finish, ScanDecoder, State
from longarena.shapes import Heads, Mask, Tokens, Values

SHORTEST_MEMORY = 10


class LionForm(nn.Module):
    """Queries, keys and decays of LION-S; the answer needs no norm and no gate."""

    def __init__(self, place: Place) -> None:
        super().__init__()
        self.place = place
        self.query, self.key = (projection(place.width, place.qkv_width) for _ in range(2))
        self.decay = nn.Linear(place.width, place.num_heads)
        with torch.no_grad():
            self.decay.bias.copy_(memories(place.num_heads, place.max_length))

    def plan(self, x: Tokens, mask: Mask) -> ScanPlan:
        """Compare tokens; the decay of a step is that of the token it comes from."""
        leaving = self.begin(x)
        k, decays = leaving.k * mask[:, None, :, None].to(x.dtype), leaving.forward
        forward, backward = (
            F.pad(decays[:, :, :-1], (0, 0, 1, 0)),
            F.pad(decays[:, :, 1:], (0, 0, 0, 1)),
        )
        return ScanPlan(leaving.q, k, forward, None if self.place.causal else backward)

    def begin(self, x: Tokens) -> ScanPlan:
        """Compare tokens, with what every one leaves to the next in the place of its decay."""
        q, k = (features(project(x), self.place.num_heads) for project in (self.query, self.key))
        return ScanPlan(q, k, rearrange(F.logsigmoid(self.decay(x)), "b n h -> b h n 1"))

    def apply(self, plan: ScanPlan, v: Values) -> Values:  # type: ignore[override]
        """Average the values."""
        return normalised(decay_scan(plan, with_ones(v)))

    def finish(self, y: Values, x: Tokens) -> Tensor:
        """Put the heads side by side."""
        return rearrange(y, "b h n d -> b n (h d)")


class LionDecoder(ScanDecoder):
    """Carry what the last token leaves to the next, which is the decay of that step."""

    def __init__(self, state: State, begin: Begin, finish: Finish) -> None:
        super().__init__(state, begin, lambda sums, x: finish(normalised(sums), x))
        self.decay = state.new_zeros(*state.shape[:2], 1, 1)

    def plan(self, x: Tokens) -> tuple[ScanPlan, Sums]:
        """Give every token the decay of the one before it."""
        plan, v = super().plan(x)
        forward = torch.cat([self.decay, plan.forward[:, :, :-1]], dim=2)
        self.decay = plan.forward[:, :, -1:].clone()
        return replace(plan, forward=forward), with_ones(v)


def features(x: Tokens, num_heads: int) -> Heads:
    """Map each head to positive numbers of length 1."""
    positive: Tensor = F.silu(rearrange(x, "b n (h d) -> b h n d", h=num_heads)) + 0.5
    return F.normalize(positive, dim=-1)


def memories(num_heads: int, max_length: int) -> Tensor:
    """Give the logit of the decay at which each head forgets all but 1/e in its span of tokens.

    >>> (-1 / F.logsigmoid(memories(3, 1000))).round().tolist()
    [10.0, 100.0, 1000.0]
    """
    shortest, longest = math.log(SHORTEST_MEMORY), math.log(max_length)
    spans = torch.linspace(shortest, longest, num_heads).exp()
    return -torch.log(torch.expm1(1 / spans))

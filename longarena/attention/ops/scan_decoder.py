"""A decoder of linear attention: the state of a scan with decays, however long the row has become.

    S_i = a_i S_{i-1} + k_i v_i^T        y_i = q_i S_i

One token is these two lines. Several, such as a prompt, are cut into chunks as in `decay_scan.py`,
except that the first chunk begins with the state that is carried.

Cost:   time O(d e) for a token, state O(d e), per head of keys of size d and values of size e.
"""

from collections.abc import Callable
from typing import TypeAlias

import torch
from einops import rearrange
from jaxtyping import Float
from torch import Tensor

from longarena.attention.ops.decay_scan import (
    CHUNK,
    ScanPlan,
    decays_in_chunks,
    from_the_start,
    in_chunks,
    running_states,
)
from longarena.attention.ops.decoder import Decoder, Token
from longarena.shapes import Tokens, Values

State: TypeAlias = Float[Tensor, "batch heads size value_size"]
# from tokens, and the position of the first of them, to queries, keys, decays and values
Begin: TypeAlias = Callable[[Tokens, int], tuple[ScanPlan, Tensor]]
# from the answers of the heads, and the tokens that asked, to tokens
Finish: TypeAlias = Callable[[Tensor, Tokens], Tokens]


def continue_scan(plan: ScanPlan, v: Values, before: State) -> tuple[Values, State]:
    """Go on with a scan in one direction; return the state after the last token, too.

    >>> one, half = torch.ones(1, 1, 1, 1), torch.full((1, 1, 1, 1), 0.5)
    >>> y, state = continue_scan(ScanPlan(one, one, half.log()), v=one, before=8 * one)
    >>> y.item(), state.item()
    (5.0, 5.0)
    """
    length = v.shape[2]
    # said for every token, or what fills up the last chunk would fade the state as well
    decays = plan.forward.expand(-1, -1, length, -1)
    if length == 1:
        state = torch.addcmul(plan.k.mT @ v, decays.exp().mT, before)
        return plan.q @ state, state
    size = min(CHUNK, 1 << (length - 1).bit_length())
    q, k, v = (in_chunks(t, size) for t in (plan.q, plan.k, v))
    decay = decays_in_chunks(decays, size)
    # where all channels fade alike, the products of the decays alone are enough
    is_shared, one = decay.shape[-1] == 1, torch.ones_like(decay)
    way = from_the_start(*((one, one) if is_shared else (q, k)), decay)
    within = q @ k.mT * way.within if is_shared else way.within
    added = (k * way.leaving).mT @ v
    states = running_states(added, way.whole, first=before)
    y = within @ v + (q * way.arriving) @ states
    last = torch.addcmul(added[:, :, -1], way.whole[:, :, -1], states[:, :, -1])
    return rearrange(y, "b h c n d -> b h (c n) d")[:, :, :length], last


class ScanDecoder(Decoder):
    """Carry the state of every head; `begin` and `finish` are those of the mixer."""

    def __init__(self, state: State, begin: Begin, finish: Finish) -> None:
        self.state = state
        self.begin, self.finish = begin, finish
        self.length = 0

    def plan(self, x: Tokens) -> tuple[ScanPlan, Tensor]:
        """Say what the next tokens add to the state, and how they read it."""
        return self.begin(x, self.length)

    def step(self, x: Token) -> Token:
        return self.read(x[:, None])[:, 0]

    def read(self, x: Tokens) -> Tokens:
        plan, v = self.plan(x)
        y, self.state = continue_scan(plan, v, self.state)
        self.length += x.shape[1]
        return self.finish(y, x)

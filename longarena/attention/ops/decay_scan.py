"""Linear attention that forgets: a scan with decays, in chunks.

Each token adds k v^T to a state that fades from token to token, and reads it with its query:

    S_i = a_i S_{i-1} + k_i v_i^T
    y_i = q_i S_i = sum_{j <= i} q_i (a_{j+1} ... a_i) k_j^T v_j

The decay a is one number per head, or one per head and token, or one per token and channel of the
keys, in which case it is a diagonal matrix. The row is cut into chunks. Inside a chunk the products
of queries and decayed keys are written out; what lies before it arrives as one state. From the end
to the start it is the same with the state of the chunks that follow.

The products of decays grow by doubling: a block of two halves has its queries on the right and its
keys on the left, and what lies between them is the decay from the key to the middle, times that
from the middle to the query. Both are at most 1, so nothing overflows, however strong the decay.

Paper:  Sun et al. (2023), https://arxiv.org/abs/2307.08621 (eq. 7); for decays of every token, Dao
        and Gu (2024), https://arxiv.org/abs/2405.21060 (section 6); for decays of every channel,
        Yang et al. (2023), https://arxiv.org/abs/2312.06635 (section 4)
Cost:   time O(N (c d + d^2)), memory O(N (c + d) + (N / c) d^2), per head of size d in chunks of c.
Choice: halves, not the paper's tiles of 16 with exact differences of logarithms inside: products of
        decays need no second exponential, and lose no small logarithm beside a large one.
Choice: a padded token has no key. It needs no decay of 1, for padding stands at the end of a row:
        forwards nothing real comes after it, and backwards the state before it is zero.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from einops import rearrange
from jaxtyping import Float
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from longarena.shapes import Values

CHUNK = 64


@dataclass(frozen=True)
class ScanPlan:
    """Queries, keys, and the logarithms of the decays, none of which is above zero.

    `forward[i]` is the step from token i - 1 to token i, `backward[i]` that from token i + 1 to
    token i; without decays `backward` no token sees a later one. A length of 1 stands for the same
    decay at every token, a size of 1 for the same in every channel. Queries and keys may be shared
    by the heads. A padded token has no key.
    """

    q: Float[Tensor, "batch #heads length size"]
    k: Float[Tensor, "batch #heads length size"]
    forward: Float[Tensor, "#batch heads #length #size"]
    backward: Float[Tensor, "#batch heads #length #size"] | None = None


def decay_scan(plan: ScanPlan, v: Values, chunk: int = CHUNK) -> Values:
    """Attend from every token to itself, to earlier tokens and, if so planned, to later ones.

    >>> one = torch.ones(1, 1, 4, 1)
    >>> plan = ScanPlan(one, one, forward=torch.full((1, 1, 1, 1), 0.5).log())
    >>> decay_scan(plan, torch.tensor([8.0, 0.0, 0.0, 0.0]).reshape(1, 1, 4, 1)).flatten().tolist()
    [8.0, 4.0, 2.0, 1.0]
    """
    decays = [plan.forward] if plan.backward is None else [plan.forward, plan.backward]
    y: Tensor = checkpoint(
        _scan, plan.q, plan.k, v, chunk, *decays, use_reentrant=False, preserve_rng_state=False
    )
    return y


def _scan(q: Tensor, k: Tensor, v: Tensor, chunk: int, *logarithms: Tensor) -> Tensor:
    length = v.shape[2]
    size = min(chunk, 1 << (length - 1).bit_length())
    q, k, v = (in_chunks(t, size) for t in (q, k, v))
    forward, *backward = (decays_in_chunks(t, size) for t in logarithms)

    # if all channels fade alike, the decays alone are written out
    is_shared = forward.shape[-1] == 1
    left, right = (torch.ones_like(forward),) * 2 if is_shared else (k, q)

    scores, through, after = faded_products(right, left, forward)
    states = running_states((k * after).mT @ v, through[..., -1:, :].mT)
    outside = (q * through) @ states
    for steps in backward:
        # from the other end, the step from token i + 1 to token i is that to token i + 1
        first = torch.ones_like(steps[..., :1, :])
        mirrored, through, after = faded_products(
            left, right, torch.cat([first, steps[..., :-1, :]], -2)
        )
        edge = steps[..., -1:, :]
        scores = scores + mirrored.mT.triu(1)
        states = running_states(
            (k * through).mT @ v, (through[..., -1:, :] * edge).mT, is_reversed=True
        )
        outside = outside + (q * (after * edge)) @ states
    if is_shared:
        scores = q @ k.mT * scores
    return rearrange(scores @ v + outside, "b h c n d -> b h (c n) d")[:, :, :length]


def in_chunks(x: Tensor, size: int) -> Tensor:
    """Cut a sequence into chunks of `size` tokens; zeros fill the last one."""
    extra = -x.shape[2] % size
    padded = F.pad(x, (0, 0, 0, extra)) if extra else x
    # or every matrix product would copy the heads together again
    return rearrange(padded, "b h (c n) d -> b h c n d", n=size).contiguous()


def decays_in_chunks(logarithms: Tensor, size: int) -> Tensor:
    """Cut the decays into chunks; those that never change need one chunk only."""
    if logarithms.shape[2] == 1:
        return logarithms.exp()[:, :, None].expand(-1, -1, -1, size, -1)
    return in_chunks(logarithms, size).exp()


def faded_products(q: Tensor, k: Tensor, decay: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Double blocks, from single tokens to whole chunks, whose length must be a power of two."""
    through, after = decay[..., None, :], torch.ones_like(decay)[..., None, :]
    scores = (q * k).sum(-1)[..., None, None]
    while scores.shape[-3] > 1:
        half = scores.shape[-1]
        left_key = rearrange(k, "... (b two n) d -> two ... b n d", two=2, n=half)[0]
        right_query = rearrange(q, "... (b two n) d -> two ... b n d", two=2, n=half)[1]
        (to_left, to_right), (from_left, from_right) = pairs(through), pairs(after)
        between = (right_query * to_right) @ (left_key * from_left).mT

        above, below = pairs(scores)
        above = F.pad(above, (0, half))
        scores = torch.cat([above, torch.cat([between, below], -1)], -2)
        through = torch.cat([to_left, to_right * to_left[..., -1:, :]], -2)
        after = torch.cat([from_left * to_right[..., -1:, :], from_right], -2)
    return scores.squeeze(-3), through.squeeze(-3), after.squeeze(-3)


def pairs(blocks: Tensor) -> tuple[Tensor, Tensor]:
    """Separate blocks 0, 2, 4 ... from blocks 1, 3, 5 ..."""
    left, right = rearrange(blocks, "... (b two) n d -> two ... b n d", two=2)
    return left, right


def running_states(added: Tensor, whole: Tensor, is_reversed: bool = False) -> Tensor:
    """Give each chunk the faded sum of what the chunks before it, or after it, have added."""
    order = slice(None, None, -1 if is_reversed else 1)
    chunks = added.unbind(2)[order]
    decays = whole.expand(-1, -1, len(chunks), -1, -1).unbind(2)[order]
    states = [torch.zeros_like(chunks[0])]
    for chunk, decay in zip(chunks[:-1], decays[:-1], strict=True):
        states.append(torch.addcmul(chunk, decay, states[-1]))
    return torch.stack(states[order], dim=2)

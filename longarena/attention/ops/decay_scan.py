"""Linear attention that forgets: a scan with decays, in chunks.

Each token adds k v^T to a state that fades by a factor a from token to token, and reads the state
with its query:

    S_i = a_i S_{i-1} + k_i v_i^T
    y_i = q_i S_i = sum_{j <= i} (a_{j+1} ... a_i) (q_i . k_j) v_j

The row is cut into chunks. Inside a chunk the small matrix of decays is written out; what lies
before the chunk arrives as one state. From the end to the start it is the same with the state of
the chunks that follow.

Paper:  Sun et al. (2023), https://arxiv.org/abs/2307.08621 (eq. 7); for decays that depend on the
        token, Dao and Gu (2024), https://arxiv.org/abs/2405.21060 (section 6)
Cost:   time O(N (c d + d^2)), memory O(N (c + d) + (N / c) d^2), per head of size d in chunks of c.
Choice: decays come as logarithms, and only sums of them are exponentiated, never differences: a sum
        of negative numbers cannot overflow, nor lose a small one beside large ones.
Choice: a padded token has no key. It needs no decay of 1, for padding stands at the end of a row:
        forwards nothing real comes after it, and backwards the state before it is zero.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from einops import rearrange
from jaxtyping import Float
from torch import Tensor

from longarena.shapes import Values

CHUNK = 64


@dataclass(frozen=True)
class ScanPlan:
    """Queries, keys, and the logarithms of the decays, none of which is above zero.

    `forward[i]` is the step from token i - 1 to token i, `backward[i]` that from token i + 1 to
    token i; without decays `backward` no token sees a later one. A length of 1 stands for the same
    decay at every token. Queries and keys may be shared by the heads. A padded token has no key.
    """

    q: Float[Tensor, "batch #heads length size"]
    k: Float[Tensor, "batch #heads length size"]
    forward: Float[Tensor, "#batch heads #length"]
    backward: Float[Tensor, "#batch heads #length"] | None = None


@dataclass(frozen=True)
class Decays:
    """The decays of all chunks in one direction; each is a factor between 0 and 1.

    `within` fades token j on its way to token i of the same chunk, `leaving` from token j to the
    edge of the chunk, `arriving` from the edge to token i, `whole` from edge to edge.
    """

    within: Tensor
    leaving: Tensor
    arriving: Tensor
    whole: Tensor


def decay_scan(plan: ScanPlan, v: Values, chunk: int = CHUNK) -> Values:
    """Attend from every token to itself, to earlier tokens and, if so planned, to later ones.

    >>> one = torch.ones(1, 1, 4, 1)
    >>> plan = ScanPlan(one, one, forward=torch.full((1, 1, 1), 0.5).log())
    >>> decay_scan(plan, torch.tensor([8.0, 0.0, 0.0, 0.0]).reshape(1, 1, 4, 1)).flatten().tolist()
    [8.0, 4.0, 2.0, 1.0]
    """
    length = v.shape[2]
    size = min(chunk, length)
    q, k, v = (in_chunks(t, size) for t in (plan.q, plan.k, v))
    earlier = forward_decays(logarithms_in_chunks(plan.forward, size))
    within, outside = earlier.within, read_earlier(q, k, v, earlier)
    if plan.backward is not None:
        later = backward_decays(logarithms_in_chunks(plan.backward, size))
        own = torch.eye(size, dtype=v.dtype, device=v.device)
        within = within + later.within - own
        outside = outside + read_later(q, k, v, later)
    y = (q @ k.mT * within) @ v + outside
    return rearrange(y, "b h c n d -> b h (c n) d")[:, :, :length]


def in_chunks(x: Tensor, size: int) -> Tensor:
    """Cut a sequence into chunks of `size` tokens; zeros fill the last one."""
    return rearrange(F.pad(x, (0, 0, 0, -x.shape[2] % size)), "b h (c n) d -> b h c n d", n=size)


def logarithms_in_chunks(x: Tensor, size: int) -> Tensor:
    """Cut logarithms of decays into chunks; a decay that never changes needs one chunk only."""
    if x.shape[2] == 1:
        return x[..., None].expand(-1, -1, -1, size)
    return in_chunks(x[..., None], size).squeeze(-1)


def forward_decays(steps: Tensor) -> Decays:
    """Make the decays from left to right, given their logarithms at every token."""
    sums = segment_sums(steps)
    arriving = (sums[..., :, :1] + steps[..., :1, None]).exp()
    return Decays(sums.exp(), sums[..., -1, :, None].exp(), arriving, arriving[..., -1:, :])


def backward_decays(steps: Tensor) -> Decays:
    """Make the decays from right to left: token i is reached from token i + 1."""
    sums = segment_sums(steps.roll(1, dims=-1)).mT
    arriving = (sums[..., :, -1:] + steps[..., -1:, None]).exp()
    return Decays(sums.exp(), sums[..., 0, :, None].exp(), arriving, arriving[..., :1, :])


def segment_sums(steps: Tensor) -> Tensor:
    """Sum the steps after j up to i for every pair of tokens; minus infinity where i < j.

    >>> segment_sums(torch.tensor([1.0, 2.0, 4.0])).tolist()
    [[0.0, -inf, -inf], [2.0, 0.0, -inf], [6.0, 4.0, 0.0]]
    """
    size = steps.shape[-1]
    steps = steps[..., None].expand(*steps.shape, size)
    is_later = torch.ones(size, size, dtype=torch.bool, device=steps.device).tril()
    sums = steps.tril(-1).cumsum(dim=-2)
    return sums.masked_fill(~is_later, -torch.inf)


def read_earlier(q: Tensor, k: Tensor, v: Tensor, decays: Decays) -> Tensor:
    """Read what the chunks before each chunk have left."""
    states = running_states((k * decays.leaving).mT @ v, decays.whole)
    return (q * decays.arriving) @ states


def read_later(q: Tensor, k: Tensor, v: Tensor, decays: Decays) -> Tensor:
    """Read what the chunks after each chunk have left."""
    states = running_states(((k * decays.leaving).mT @ v).flip(2), decays.whole.flip(2))
    return (q * decays.arriving) @ states.flip(2)


def running_states(added: Tensor, whole: Tensor) -> Tensor:
    """Give each chunk the faded sum of what the chunks before it have added."""
    decays = whole.expand(-1, -1, added.shape[2], -1, -1).unbind(2)
    states = [torch.zeros_like(added[:, :, 0])]
    for chunk, decay in zip(added.unbind(2)[:-1], decays[:-1], strict=True):
        states.append(torch.addcmul(chunk, decay, states[-1]))
    return torch.stack(states, dim=2)

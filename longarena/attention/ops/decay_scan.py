"""Linear attention that forgets: a scan with decays, in chunks.

Each token adds k v^T to a state that fades from token to token, and reads it with its query:

    S_i = a_i S_{i-1} + k_i v_i^T
    y_i = q_i S_i = sum_{j <= i} q_i (a_{j+1} ... a_i) k_j^T v_j

The decay a is one number per head, or one per head and token, or one per head, token and channel of
the keys, in which case it is a diagonal matrix. The row is cut into chunks. Inside a chunk the
products of queries and faded keys are written out; what lies before it arrives as one state. From
the end to the start it is the same with the state of the chunks that follow.

The products inside a chunk grow by doubling. In a block of two halves, a query on the right meets a
key on the left that has faded from its place to the middle and from the middle to the query. Both
factors are at most 1, so nothing overflows, however strong the decay.

Paper:  Sun et al. (2023), https://arxiv.org/abs/2307.08621 (eq. 7); for decays of every token, Dao
        and Gu (2024), https://arxiv.org/abs/2405.21060 (section 6); for decays of every channel,
        Yang et al. (2023), https://arxiv.org/abs/2312.06635 (section 4)
Cost:   time O(N (c d + d^2)), memory O(N d), per head of size d in chunks of c.
Choice: halves and products of decays, where the papers take differences of sums of logarithms: a
        strong decay leaves no rounding error behind it, and one exponential per decay suffices.
Choice: the chunks are computed again in the backward pass. Measured with one thread for four rows
        of 4,096 tokens, 256 channels and 4 heads, forward and backward through a whole mixer:
        retention 1601 ms and 180 MiB kept, against 1438 ms and 308 MiB with the chunks kept; gla
        1735 ms and 146 MiB, against 1513 ms and 578 MiB.
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


@dataclass(frozen=True)
class Way:
    """What the decays of one direction do in every chunk; all factors are between 0 and 1.

    `within` holds the products of queries with keys that fade inside the chunk. A key fades by
    `leaving` until the edge of its chunk, by `whole` across another, and by `arriving` from the
    edge to the query.
    """

    within: Tensor
    leaving: Tensor
    whole: Tensor
    arriving: Tensor
    is_reversed: bool


def decay_scan(plan: ScanPlan, v: Values, chunk: int = CHUNK) -> Values:
    """Attend from every token to itself, to earlier tokens and, if so planned, to later ones.

    The size of a chunk, a power of two, changes nothing but the speed.

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

    # where all channels fade alike, the products of the decays alone are enough
    is_shared = forward.shape[-1] == 1
    one = torch.ones_like(forward)
    query, key = (one, one) if is_shared else (q, k)
    ways = [from_the_start(query, key, forward)]
    ways += [from_the_end(query, key, steps) for steps in backward]

    within = ways[0].within if len(ways) == 1 else ways[0].within + ways[1].within
    y = (q @ k.mT * within if is_shared else within) @ v
    for way in ways:
        states = running_states((k * way.leaving).mT @ v, way.whole, way.is_reversed)
        y = y + (q * way.arriving) @ states
    return rearrange(y, "b h c n d -> b h (c n) d")[:, :, :length]


def from_the_start(q: Tensor, k: Tensor, decay: Tensor) -> Way:
    """Meet the present token and earlier ones."""
    within, through, after = faded_products(q, k, decay)
    return Way(within, after, through[..., -1:, :].mT, through, is_reversed=False)


def from_the_end(q: Tensor, k: Tensor, decay: Tensor) -> Way:
    """Meet later tokens: the same products with queries and keys exchanged.

    The last decay is the step into the chunk from the one after it.
    """
    edge = decay[..., -1:, :]
    between = torch.cat([torch.ones_like(edge), decay[..., :-1, :]], dim=-2)
    within, through, after = faded_products(k, q, between)
    whole = through[..., -1:, :] * edge
    return Way(within.mT.triu(1), through, whole.mT, after * edge, is_reversed=True)


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
    """Multiply each query of a chunk with the faded keys up to its own, by doubling blocks.

    Also return the decays from the start of the chunk through each token, and after each token to
    the end of the chunk.

    >>> one, decay = torch.ones(4, 1), torch.tensor([0.5, 1.0, 0.5, 0.25])[:, None]
    >>> faded_products(one, one, decay)[0][3].tolist()
    [0.125, 0.125, 0.25, 1.0]
    """
    through, after = decay[..., None, :], torch.ones_like(decay)[..., None, :]
    products = (q * k).sum(-1)[..., None, None]
    while products.shape[-3] > 1:
        half = products.shape[-1]
        key, query = pairs(in_blocks(k, half))[0], pairs(in_blocks(q, half))[1]
        (to_left, to_right), (from_left, from_right) = pairs(through), pairs(after)
        across = (query * to_right) @ (key * from_left).mT

        left, right = pairs(products)
        upper, lower = F.pad(left, (0, half)), torch.cat([across, right], dim=-1)
        products = torch.cat([upper, lower], dim=-2)
        through = torch.cat([to_left, to_right * to_left[..., -1:, :]], dim=-2)
        after = torch.cat([from_left * to_right[..., -1:, :], from_right], dim=-2)
    return products.squeeze(-3), through.squeeze(-3), after.squeeze(-3)


def in_blocks(x: Tensor, size: int) -> Tensor:
    """Cut the tokens of a chunk into blocks."""
    return rearrange(x, "... (b n) d -> ... b n d", n=size)


def pairs(blocks: Tensor) -> tuple[Tensor, Tensor]:
    """Separate the left blocks, 0, 2, 4 ..., from the right ones, 1, 3, 5 ..."""
    left, right = rearrange(blocks, "... (b two) n d -> ... b two n d", two=2).unbind(-3)
    return left, right


def running_states(
    added: Tensor, whole: Tensor, is_reversed: bool = False, first: Tensor | None = None
) -> Tensor:
    """Give each chunk the faded sum of what the chunks before it, or after it, have added.

    Nothing has been added before the first one, unless `first` says what.
    """
    order = slice(None, None, -1 if is_reversed else 1)
    chunks = added.unbind(2)[order]
    decays = whole.expand(-1, -1, len(chunks), -1, -1).unbind(2)[order]
    states = [torch.zeros_like(chunks[0]) if first is None else first]
    for chunk, decay in zip(chunks[:-1], decays[:-1], strict=True):
        states.append(torch.addcmul(chunk, decay, states[-1]))
    return torch.stack(states[order], dim=2)

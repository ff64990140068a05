"""Sparse Sinkhorn attention: learn to sort the blocks, then attend inside blocks.

A small network reads the sum s_i of each block's tokens and scores which block belongs beside it.
The rows and columns of the scores are normalised in turn until they are nearly a permutation:

    R_i = W_2 relu(W_1 s_i + b_1) + b_2          P = normalise(... normalise((R + noise) / t))
    sorted block i of the keys = sum_j P_ij (block j of the keys), and likewise for the values

A query attends to its own block and to the sorted block in the same place, by one softmax. With
`sort_cut` = k (SortCut) every query attends to the first k sorted blocks instead. P is a smooth
function of R, so the network learns from the loss alone.

When causal, s_i is the first token of block i, which all of its tokens know, only the blocks before
it are sorted to it, and a query sees its own block up to itself.

Paper:  Tay et al. (2020), https://arxiv.org/abs/2002.11296
Cost:   time O(N b d + N^2 d / b), memory O(N d + (N / b)^2), for blocks of b; SortCut O(N k b d).
Choice: P covers a row's real blocks only. A token that is missing in the last block adds nothing to
        a sorted block; a place to which no real token adds is not a key.
Choice: each head reads its own part of the sum, and R has no second relu, which would stop the
        gradient of half of the scores (right answers to the task of `test_sinkhorn.py`, three
        seeds: all without it; 57, 70 and 100 % with it). The network reads tokens, so its layers
        are as wide as a head's part of the width.
Choice: when causal, only the rows of R are normalised, once, by a softmax over the blocks before.
        Causal and balanced is no sorting: a matrix without entries above its diagonal whose rows
        and columns all sum to one is the identity. And the sum of a column would tell an earlier
        block what a later one asks for. The authors' release sorts by softmax, too.
Choice: when causal, the paper summarises a block by the sum of all tokens up to its first one, the
        authors' release by its first one. A sum of so many says nothing of the block itself, and
        it saturates the softmax: at the start the largest entry of a row is 0.95 on average, at
        4,096 normal tokens of width 64, and 0.998 if these have a mean in common.
Choice: the noise of a step depends on the seed, the layer and the step, and is the same for all
        rows, so that a batch is sorted alike whether it comes whole, in parts or on many devices.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from einops import einsum, rearrange, reduce
from jaxtyping import Bool, Float
from pydantic import Field
from torch import Tensor, nn

from longarena.attention.base import Attention, Mixer, Place
from longarena.attention.cards import CARDS
from longarena.attention.ops.blocks import Pattern, Sets, attend, cut, cut_mask, join
from longarena.attention.ops.cache import Cache
from longarena.attention.ops.decoder import Decoder
from longarena.attention.ops.prompt_decoder import PromptDecoder
from longarena.attention.pattern_decoder import key_values
from longarena.errors import UserError
from longarena.options import Options
from longarena.seeding import torch_rng
from longarena.shapes import Heads, Mask, Tokens, Values

HIDDEN = -1e9

BlockMask = Bool[Tensor, "batch blocks"]
Permutation = Float[Tensor, "batch heads blocks blocks"]
Scores = Float[Tensor, "batch heads blocks columns"]
KeyBlocks = Float[Tensor, "batch chosen heads block size"]
Sums = Float[Tensor, "batch blocks width"]
Summaries = Float[Tensor, "batch heads blocks size"]


def normalise(logits: Permutation, real: BlockMask, iterations: int) -> Permutation:
    """Normalise rows and columns in turn, in log space; columns are last and sum to one.

    Blocks that are not real have neither a row nor a column.
    """
    row_is_real, column_is_real = real[:, None, :, None], real[:, None, None, :]
    logits = logits.masked_fill(~(row_is_real & column_is_real), HIDDEN)
    columns = torch.zeros_like(logits[:, :, :1])
    for _ in range(iterations):
        rows = (logits - columns).logsumexp(dim=-1, keepdim=True).where(row_is_real, 0.0)
        columns = (logits - rows).logsumexp(dim=-2, keepdim=True).where(column_is_real, 0.0)
    return (logits - rows - columns).exp()


def past_only(logits: Permutation) -> Permutation:
    """Share every row among the blocks before it; the first block has none, and gets nothing."""
    past = torch.ones(logits.shape[-2:], dtype=torch.bool, device=logits.device).tril(-1)
    return logits.masked_fill(~past, HIDDEN).softmax(dim=-1) * past


def block_sums(x: Tokens, mask: Mask, block: int) -> Sums:
    """Add up the real tokens of each block."""
    extra = -x.shape[1] % block
    x = x.masked_fill(~mask[..., None], 0.0)
    x = F.pad(x, (0, 0, 0, extra)) if extra else x
    return reduce(x, "b (n s) d -> b n d", "sum", s=block)


def only_real(t: Heads, mask: Mask) -> Heads:
    """Set keys or values at padding to zero, so that they add nothing to a sorted block.

    The copy holds each head in one piece, the layout that the product with a permutation needs.
    """
    copy = t.clone(memory_format=torch.contiguous_format)
    return copy.masked_fill_(~mask[:, None, :, None], 0.0)


def blocks(t: Heads, block: int) -> KeyBlocks:
    """Cut keys or values into blocks; zeros fill the last one."""
    extra = -t.shape[2] % block
    t = F.pad(t, (0, 0, 0, extra)) if extra else t
    return rearrange(t, "b h (n s) d -> b n h s d", s=block)


def sorted_keys(
    permutation: Float[Tensor, "batch heads chosen blocks"], block: int
) -> Callable[[Heads], KeyBlocks]:
    """Return a function that sorts the blocks of keys or values, which must be zero at padding."""

    def sort(t: Heads) -> KeyBlocks:
        weights = permutation.to(t.dtype)
        return einsum(weights, blocks(t, block), "b h m n, b n h s d -> b m h s d")

    return sort


def beside_own_block(permutation: Permutation, mask: Mask, block: int, causal: bool) -> Pattern:
    """Let every query see its own block and the sorted block in the same place."""
    batch, length = mask.shape
    own = cut_mask(mask, block)
    sort = sorted_keys(permutation, block)

    def sets(k: Heads) -> Sets:
        # joined before the blocks are folded into the batch; afterwards it would be one more copy
        return torch.cat([sort(k), blocks(k, block)], dim=3).flatten(0, 1)

    somewhere = rearrange(own, "(b n) 1 1 s -> b n s", b=batch).any(dim=1)
    beside = somewhere.repeat_interleave(len(own) // batch, dim=0)[:, None, None, :]
    if causal:
        has_past = torch.arange(len(own), device=mask.device) % (len(own) // batch) > 0
        beside = (beside & has_past[:, None, None, None]).expand(-1, -1, block, -1)
        own = own & torch.ones(block, block, dtype=torch.bool, device=mask.device).tril()
    return Pattern(
        cut=lambda q: cut(q, block),
        sets=sets,
        join=lambda y: join(y, batch, length),
        allowed=torch.cat([beside, own], dim=-1),
    )


def first_sorted_blocks(permutation: Permutation, mask: Mask, block: int, count: int) -> Pattern:
    """Let every query see the first `count` sorted blocks."""
    real = rearrange(cut_mask(mask, block), "(b n) 1 1 s -> b n s", b=len(mask))
    exists = real.any(dim=2)[:, :count, None] & real.any(dim=1)[:, None, :]
    sort = sorted_keys(permutation[:, :, :count], block)
    return Pattern(
        cut=lambda q: q,
        sets=lambda k: rearrange(sort(k), "b m h s d -> b h (m s) d"),
        join=lambda y: y,
        allowed=rearrange(exists, "b m s -> b 1 1 (m s)"),
    )


class SortingNetwork(nn.Module):
    """Two layers per head, from the summary of a block to a logit for every block."""

    def __init__(self, place: Place, num_blocks: int) -> None:
        super().__init__()
        heads, size = place.num_heads, place.width // place.num_heads
        self.hidden, self.hidden_bias = _linear(heads, size, size)
        self.output, self.output_bias = _linear(heads, size, num_blocks)

    def forward(self, summaries: Summaries, num_blocks: int) -> Scores:
        hidden = F.relu(summaries @ self.hidden + self.hidden_bias)
        return hidden @ self.output[..., :num_blocks] + self.output_bias[..., :num_blocks]


def _linear(heads: int, size_in: int, size_out: int) -> tuple[nn.Parameter, nn.Parameter]:
    weights = [nn.init.xavier_uniform_(torch.empty(size_in, size_out)) for _ in range(heads)]
    return nn.Parameter(torch.stack(weights)), nn.Parameter(torch.zeros(heads, 1, size_out))


@dataclass(frozen=True)
class SinkhornPlan:
    """Queries, keys, the mask of the values, and the pattern of own and sorted blocks."""

    q: Heads
    k: Heads
    mask: Mask
    pattern: Pattern


class SinkhornOptions(Options):
    """Blocks of `block` tokens, sorted at a temperature; `sort_cut` of them serve all queries.

    The scores are balanced in so many `iterations`, or, when causal, not at all.
    """

    block: int = Field(64, gt=0)
    iterations: int = Field(8, gt=0)
    temperature: float = Field(0.7, gt=0)
    sort_cut: int | None = Field(None, gt=0)


class Sinkhorn(Attention[SinkhornPlan]):
    """Multi-head attention to sorted blocks, each head with an order of its own."""

    card = CARDS["sinkhorn"]
    options_type = SinkhornOptions
    takes_rotary = True
    noise: Tensor

    def __init__(
        self, place: Place, options: SinkhornOptions, previous: Mixer | None = None
    ) -> None:
        super().__init__(place, options, previous)
        if place.causal and options.sort_cut is not None:
            raise UserError(
                "sinkhorn: sort_cut sorts once for all queries, by what comes after them too, so "
                "it cannot be causal; leave out sort_cut"
            )
        self.options = options
        self.num_blocks = -(-place.max_length // options.block)
        self.network = SortingNetwork(place, self.num_blocks)
        self.register_buffer("noise", self._draw(0), persistent=False)

    def begin_step(self, step: int) -> None:
        self.noise.copy_(self._draw(step))

    def plan(self, x: Tokens, mask: Mask) -> SinkhornPlan:
        block, count = self.options.block, self.options.sort_cut
        permutation = self.permutation(x, mask)
        if count is None:
            pattern = beside_own_block(permutation, mask, block, self.place.causal)
        else:
            pattern = first_sorted_blocks(permutation, mask, block, count)
        q, k = self.queries(x), self.keys(x)
        return SinkhornPlan(q, only_real(k, mask), mask, pattern)

    def apply(self, plan: SinkhornPlan, v: Values) -> Values:  # type: ignore[override]
        return attend(plan.pattern, plan.q, plan.k, only_real(v, plan.mask))

    def decoder(self, batch: int) -> Decoder:
        return SinkhornDecoder(self, batch)

    def permutation(self, x: Tokens, mask: Mask) -> Permutation:
        """Return the weight of every block in every sorted block."""
        block, causal = self.options.block, self.place.causal
        real = cut_mask(mask, block).any(dim=-1).view(len(mask), -1)
        summaries = x[:, ::block] if causal else block_sums(x, mask, block)
        num_blocks = real.shape[1]
        scores = self.scores(summaries, num_blocks)
        if self.training:
            noise = self.noise[..., :num_blocks, :num_blocks].to(scores)
            scores = scores + noise / self.options.temperature
        return past_only(scores) if causal else normalise(scores, real, self.options.iterations)

    def scores(self, summaries: Sums, num_blocks: int) -> Scores:
        """Score the first blocks beside each block that is summarised."""
        logits: Tensor = self.network(self.split(summaries), num_blocks)
        return (
            logits.to(torch.promote_types(logits.dtype, torch.float32)) / self.options.temperature
        )

    def _draw(self, step: int) -> Float[Tensor, "heads blocks blocks"]:
        """Draw a step's Gumbel noise, which does not depend on the number or length of the rows."""
        rng = torch_rng(self.place.seed, "noise", self.place.layer, step)
        shape = (self.place.num_heads, self.num_blocks, self.num_blocks)
        return -torch.empty(shape).exponential_(generator=rng).log()


class SinkhornDecoder(PromptDecoder):
    """Keep all keys and values, and the block that is sorted to the one that is being read.

    A block beyond the longest sequence has no score, and is sorted to none.
    """

    def __init__(self, mixer: Sinkhorn, batch: int) -> None:
        super().__init__(mixer)
        self.mixer, self.block = mixer, mixer.options.block
        sizes = batch, mixer.place.num_heads, self.block, 2 * mixer.place.head_size
        self.sorted = mixer.zeros(*sizes)
        self.rows = Cache(self.sorted[:, :, 0])

    def remember(self, x: Tokens) -> None:
        self.rows.extend(key_values(self.mixer, x))
        begun = x.shape[1] // self.block
        if x.shape[1] % self.block:
            self._sort(begun, x[:, begun * self.block, None])

    def mix(self, x: Tokens) -> Tokens:
        begun, place = divmod(self.position, self.block)
        if place == 0:
            self._sort(begun, x)
        own = self.rows.extend(key_values(self.mixer, x, self.position))[:, :, -place - 1 :]
        rows = torch.cat([self.sorted, own], dim=2) if begun else own
        q, (k, v) = self.mixer.queries(x, self.position), rows.chunk(2, dim=-1)
        return self.mixer.merged(F.scaled_dot_product_attention(q, k, v))

    def _sort(self, begun: int, first: Tokens) -> None:
        """Sort the blocks before to the one that begins with this token."""
        count = min(begun, self.mixer.num_blocks)
        weights = self.mixer.scores(first, count).softmax(dim=-1).to(self.sorted.dtype)
        before = self.rows.rows[:, :, : count * self.block]
        before = rearrange(before, "b h (n s) d -> b h n s d", s=self.block)
        self.sorted = einsum(weights, before, "b h one n, b h n s d -> b h s d")

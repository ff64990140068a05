"""Compress old states: every `rate` of them become one.

    mean, max    of a group of `rate` neighbours
    conv         W [x_1, ..., x_rate], a convolution whose stride is its kernel
    most-used    the 1 / rate of a segment's states that were attended to most, when it leaves
                 the memory

W is trained by one aim only: attention to the compressed states should give what attention to the
states themselves gave. A segment is judged by the queries of the segment that sees it last:

    loss = mean |attend(q, old) - attend(q, compressed)|^2      attend by softmax(q . k / sqrt(d))

Paper:  Rae et al. (2020), https://arxiv.org/abs/1911.05507 (its attention-reconstruction loss)
Choice: the convolution starts as the mean.
Choice: the loss is a mean over examples of the mean over an example's queries, so that the losses
        of the parts of a batch add up to the loss of the whole.
Choice: usage is measured by the same attention that the loss compares, averaged over heads and
        queries.
"""

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from einops import rearrange
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from longarena.attention.ops.blocks import Blocks, Sets, cut, cut_mask
from longarena.attention.ops.convolution import Convolving
from longarena.attention.ops.visible import Allowed, visible
from longarena.shapes import Heads, Mask, Tokens

SlotStates = Float[Tensor, "batch slots width"]


def groups(x: Tokens, rate: int) -> Float[Tensor, "batch slots rate width"]:
    """Cut into groups of `rate` neighbours; zeros fill the last."""
    x = F.pad(x, (0, 0, 0, -x.shape[1] % rate))
    return rearrange(x, "b (t r) d -> b t r d", r=rate)


def real_in_groups(mask: Mask, rate: int) -> Bool[Tensor, "batch slots rate 1"]:
    """Tell which members of every group are real."""
    return groups(mask[..., None].float(), rate) > 0


def mean_of_groups(x: Tokens, mask: Mask, rate: int) -> SlotStates:
    """Average the real states of every group."""
    count = real_in_groups(mask, rate).sum(dim=2).clamp_min(1)
    return groups(x.masked_fill(~mask[..., None], 0.0), rate).sum(dim=2) / count


def max_of_groups(x: Tokens, mask: Mask, rate: int) -> SlotStates:
    """Take the maximum of the real states of every group, channel by channel."""
    real = real_in_groups(mask, rate)
    largest = groups(x, rate).masked_fill(~real, -math.inf).amax(dim=2)
    return largest.masked_fill(~real.any(dim=2), 0.0)


class Convolution(Convolving):
    """A learned map from a group of states to one."""

    def __init__(self, width: int, rate: int) -> None:
        super().__init__()
        self.rate = rate
        self.weight = nn.Parameter(torch.eye(width).repeat(1, rate) / rate)

    def forward(self, x: Tokens, mask: Mask) -> SlotStates:
        members = groups(x.masked_fill(~mask[..., None], 0.0), self.rate)
        return F.linear(members.flatten(2), self.weight)


@dataclass(frozen=True)
class States:
    """The keys and values of some states in every problem, and which of them are real."""

    k: Sets
    v: Sets
    real: Allowed

    def attend(self, q: Blocks) -> Blocks:
        """Attend to these states alone."""
        return F.scaled_dot_product_attention(q, self.k, self.v, attn_mask=visible(self.real))


@dataclass(frozen=True)
class Leaving:
    """Segments that leave the memory; the queries `delay` segments later see each one last."""

    segment: int
    delay: int

    def judges(self, q: Heads) -> Blocks:
        """Return, for all segments that leave, the queries that see them for the last time."""
        blocks = rearrange(cut(q, self.segment), "(b n) h s d -> b n h s d", b=len(q))
        return blocks[:, self.delay :].flatten(0, 1)

    def left(self, k: Heads, v: Heads, mask: Mask, rate: int = 1) -> States:
        """Return all segments that leave, or what they were compressed to."""
        size = self.segment // rate
        k, v, real = (
            rearrange(t, "(b n) h s d -> b n h s d", b=len(mask))[:, : -self.delay].flatten(0, 1)
            for t in (cut(k, size), cut(v, size), cut_mask(mask, size))
        )
        return States(k, v, real)

    def judging(self, mask: Mask) -> Bool[Tensor, "problems 1 queries 1"]:
        """Tell which of the judging queries are real."""
        real = rearrange(cut_mask(mask, self.segment), "(b n) 1 1 s -> b n 1 s 1", b=len(mask))
        return real[:, self.delay :].flatten(0, 1)

    def usage(self, q: Heads, k: Heads, mask: Mask) -> Float[Tensor, "batch segments segment"]:
        """Return how much every state was attended to when its segment was last seen."""
        left = self.left(k, k, mask)
        logits = self.judges(q) @ left.k.mT / math.sqrt(q.shape[-1])
        logits = logits.masked_fill(~visible(left.real), -math.inf)
        weights = logits.softmax(dim=-1).masked_fill(~self.judging(mask), 0.0).sum(dim=(1, 2))
        used = rearrange(weights, "(b n) s -> b n s", b=len(mask))
        return F.pad(used, (0, 0, 0, min(self.delay, -(-mask.shape[1] // self.segment))))


def most_used(
    usage: Float[Tensor, "batch segments segment"], mask: Mask, rate: int
) -> Int[Tensor, "batch slots"]:
    """Return the positions of the most used real states of every segment, in order."""
    _, num_segments, segment = usage.shape
    real = rearrange(
        F.pad(mask, (0, num_segments * segment - mask.shape[1])), "b (n s) -> b n s", s=segment
    )
    best = usage.masked_fill(~real, -1.0).topk(segment // rate, dim=-1).indices.sort().values
    first = torch.arange(0, num_segments * segment, segment, device=mask.device)[:, None]
    return (best + first).flatten(1)


def reconstruction_loss(
    judges: Blocks,
    judging: Bool[Tensor, "problems 1 queries 1"],
    old: States,
    new: States,
    batch: int,
) -> Float[Tensor, ""]:
    """Compare attention to compressed states with attention to the states they were made from."""
    wanted = old.attend(judges).detach()
    squares = (wanted - new.attend(judges)).square().masked_fill(~judging, 0.0)
    num_compared = judging.view(batch, -1).sum(dim=1).clamp_min(1)
    by_example = squares.mean(dim=(1, 3)).view(batch, -1).sum(dim=1)
    return (by_example / num_compared).mean()

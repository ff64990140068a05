"""Attention segment by segment, to the segment itself and to what came before it.

A segment's keys come in parts, the oldest first: states that were compressed, states that are
remembered, its own. Each part has its own keys and values, for those of what is remembered carry no
gradient to its states.

Cost:   time O(N m d) for m keys per segment; memory O(N (m + d)): the weights are kept for the
        backward pass, gathered keys and values are gathered again. Computing the weights again too
        would save O(N m) and cost a fifth of the time.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor

from longarena.attention.again import made_again
from longarena.attention.blocks import cut, gather, join, look_up
from longarena.attention.relative import ByHead, Relation, relative_attention
from longarena.shapes import Heads, Mask, Values

# so many tokens are computed at a time: their logits fit into a cache better than all
TOKENS = 4096


@dataclass(frozen=True)
class Segments:
    """A sequence in segments, and how many positions before itself each remembers."""

    length: int
    segment: int
    memory: int

    @staticmethod
    def of(length: int, segment: int, memory: int) -> "Segments":
        """Cut into segments; neither these nor the memory are longer than there is reason for."""
        before_the_last = (length - 1) // segment * segment
        return Segments(length, min(segment, length), min(memory, before_the_last))

    def own(self) -> Int[Tensor, "segments keys"]:
        """Give the positions of every segment."""
        return self.starts() + torch.arange(self.segment)

    def remembered(self) -> Int[Tensor, "segments keys"]:
        """Give the positions that every segment remembers.

        >>> Segments.of(6, segment=2, memory=3).remembered().tolist()
        [[-3, -2, -1], [-1, 0, 1], [1, 2, 3]]
        """
        return self.starts() + torch.arange(-self.memory, 0)

    def starts(self) -> Int[Tensor, "segments 1"]:
        """Give the first position of every segment."""
        return torch.arange(0, self.length, self.segment)[:, None]


@dataclass(frozen=True)
class Part:
    """A part of every segment's keys: a sequence, and which of its positions a segment sees."""

    k: Heads
    mask: Mask
    positions: Int[Tensor, "segments keys"]


@dataclass(frozen=True)
class SegmentPlan:
    """Queries, the parts of the keys, and what distances mean; the own segment comes last."""

    q: Heads
    parts: tuple[Part, ...]
    relation: Relation
    causal: bool


def attend_in_segments(plan: SegmentPlan, values: tuple[Tensor, ...]) -> Values:
    """Attend from every segment to all its parts, each with its own values, by one softmax.

    The values of a part are (B, H, length of the part, any size).
    """
    pairs = zip(plan.parts, values, strict=True)
    seen = [(part, v) for part, v in pairs if part.positions.numel()]
    sequences = [t for part, v in seen for t in (part.k, v, part.mask)]
    num_rows = max(1, TOKENS // plan.q.shape[2])
    answers = []
    for q, *rows in zip(*(torch.split(t, num_rows) for t in (plan.q, *sequences)), strict=True):
        tables = [
            look_up(mask, part.positions[None, :, :, None])
            for mask, (part, _) in zip(rows[2::3], seen, strict=True)
        ]
        answers.append(_attend(plan, q, Sets(rows[::3], tables), Sets(rows[1::3], tables)))
    return torch.cat(answers)


@dataclass(frozen=True)
class Sets:
    """The keys or values of every segment, from the sequences of all parts."""

    # (B, H, length of the part, d); (problems, keys, 1) and which of them are real
    sequences: list[Tensor]
    tables: list[tuple[Tensor, Tensor]]

    def gather(self) -> ByHead:
        """Gather and join what every segment sees of every part."""
        pairs = zip(self.sequences, self.tables, strict=True)
        parts = [gather(t, rows).transpose(0, 1) for t, (rows, _) in pairs]
        return torch.cat(parts, dim=2).contiguous()

    def gather_again(self) -> ByHead:
        """Gather for the backward pass, which wants nothing but the numbers."""
        return Sets([t.detach() for t in self.sequences], self.tables).gather()


def _attend(plan: SegmentPlan, q: Heads, keys: Sets, values: Sets) -> Values:
    batch, _, length, _ = q.shape
    allowed = torch.cat([real for _, real in keys.tables], dim=-1)
    segment, num_keys = plan.parts[-1].positions.shape[1], allowed.shape[-1]
    if plan.causal:
        every = torch.ones(segment, num_keys, dtype=torch.bool, device=q.device)
        allowed = allowed & every.tril(num_keys - segment)
    k, v = keys.gather(), values.gather()
    makers = {k.data_ptr(): keys.gather_again, v.data_ptr(): values.gather_again}
    with made_again(makers):
        y = relative_attention(plan.relation, cut(q, segment).transpose(0, 1), k, v, allowed)
    return join(y.transpose(0, 1), batch, length)

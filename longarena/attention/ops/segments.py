"""Attention segment by segment, to the segment itself and to what came before it.

A segment's keys come in parts, the oldest first: compressed states, remembered states, its own
states. Each part has its own keys and values, since remembered ones carry no gradient to their
states.

Cost:   time O(N m d) for m keys per segment; memory O(N (m + d)): the weights are kept for the
        backward pass, while keys and values are gathered again (`recompute.py`). Computing the
        weights again too would save O(N m) memory and cost a fifth of the time.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import torch
import torch.nn.functional as F
from einops import rearrange
from jaxtyping import Float
from torch import Tensor

from longarena.attention.ops.recompute import recomputed
from longarena.attention.ops.relative import ByHead, Relation, relative_attention
from longarena.shapes import Heads, Mask, Values

# the number of tokens computed at a time, so that their logits fit into a cache
TOKENS = 4096

# one tensor for each part; a part may have another length than the sequence
Sequences = Sequence[Float[Tensor, "batch heads _ _"]]


@dataclass(frozen=True)
class Span:
    """The positions of a sequence that segments see: `size` each, for the first one from `first`.

    Every following segment sees positions `step` further on; outside the sequence is nothing.
    """

    first: int
    size: int
    step: int

    def cut(self, x: Tensor, num_segments: int) -> Tensor:
        """Cut (..., positions, d) into (..., segments, size, d); zeros stand for nothing.

        >>> x = torch.tensor([[1], [2], [3], [4]])
        >>> Span(first=-1, size=3, step=2).cut(x, 2)[..., 0].tolist()
        [[0, 1, 2], [2, 3, 4]]
        """
        after = self.first + (num_segments - 1) * self.step + self.size - x.shape[-2]
        x = F.pad(x, (0, 0, -self.first, after)) if self.first or after else x
        if self.size == self.step:  # nothing is seen twice, so no gradients need to be summed
            return rearrange(x, "... (n s) d -> ... n s d", s=self.size)
        return x.unfold(-2, self.size, self.step).mT


@dataclass(frozen=True)
class Segments:
    """A sequence cut into segments, and how many positions before itself each remembers."""

    length: int
    segment: int
    memory: int

    @staticmethod
    def of(length: int, segment: int, memory: int) -> "Segments":
        """Cut into segments; neither these nor the memory are longer than the sequence allows."""
        before_the_last = (length - 1) // segment * segment
        return Segments(length, min(segment, length), min(memory, before_the_last))

    @property
    def number(self) -> int:
        """How many segments there are."""
        return -(-self.length // self.segment)

    def own(self) -> Span:
        """Return the positions of every segment."""
        return Span(0, self.segment, self.segment)

    def remembered(self) -> Span:
        """Return the positions that every segment remembers."""
        return Span(-self.memory, self.memory, self.segment)


@dataclass(frozen=True)
class Part:
    """A part of every segment's keys: a sequence, and the positions that a segment sees of it."""

    k: Heads
    mask: Mask
    span: Span


@dataclass(frozen=True)
class SegmentPlan:
    """Queries, the parts of the keys with the segment itself last, and the relative positions."""

    q: Heads
    parts: tuple[Part, ...]
    relation: Relation
    causal: bool


def attend_in_segments(plan: SegmentPlan, values: tuple[Tensor, ...]) -> Values:
    """Attend from every segment to all its parts, each with its own values, by one softmax.

    The values of a part are (B, H, length of the part, any size).
    """
    seen = [(part, v) for part, v in zip(plan.parts, values, strict=True) if part.span.size]
    sequences = [t for part, v in seen for t in (part.k, part.mask, v)]
    num_rows = max(1, TOKENS // plan.q.shape[2])
    answers = []
    for q, *rows in zip(*(torch.split(t, num_rows) for t in (plan.q, *sequences)), strict=True):
        pairs = zip(rows[::3], rows[1::3], seen, strict=True)
        parts = [Part(k, mask, part.span) for k, mask, (part, _) in pairs]
        answers.append(_attend(plan, q, parts, rows[2::3]))
    return torch.cat(answers)


def _attend(plan: SegmentPlan, q: Heads, parts: Sequence[Part], values: Sequences) -> Values:
    batch, _, length, _ = q.shape
    spans = [part.span for part in parts]
    own = spans[-1]
    num_segments = -(-length // own.size)
    real = [part.span.cut(part.mask[..., None], num_segments) for part in parts]
    allowed = rearrange(torch.cat(real, dim=2), "b n k 1 -> (b n) 1 1 k")
    if plan.causal:
        num_keys = allowed.shape[-1]
        every = torch.ones(own.size, num_keys, dtype=torch.bool, device=q.device)
        allowed = allowed & every.tril(num_keys - own.size)
    keys = [part.k for part in parts]
    k, v = (join_spans(t, spans, num_segments) for t in (keys, values))
    gathered = [
        # the backward pass needs only the numbers, not their graph
        (made, partial(join_spans, [t.detach() for t in sources], spans, num_segments))
        for made, sources in ((k, keys), (v, values))
    ]
    with recomputed(*gathered):
        y = relative_attention(plan.relation, join_spans([q], [own], num_segments), k, v, allowed)
    return rearrange(y, "h (b n) s d -> b h (n s) d", b=batch)[:, :, :length]


def join_spans(sequences: Sequences, spans: Sequence[Span], num_segments: int) -> ByHead:
    """Join what every segment sees of every sequence."""
    pairs = zip(sequences, spans, strict=True)
    parts = [span.cut(x.transpose(0, 1), num_segments) for x, span in pairs]
    return torch.cat(parts, dim=3).flatten(1, 2)

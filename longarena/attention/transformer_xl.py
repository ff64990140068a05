"""Transformer-XL: segments that remember the states before them, and relative positions.

    y_i = sum_j softmax_j(relative logit_ij) v_j      j in the segment of i, or one of the `memory`
                                                      positions before that segment

No gradient flows through the memory: its keys and values are W stopgrad(x), so the loss of a
segment trains the projections but not the states of an earlier segment. From layer to layer the
reach grows to the left by the length of the memory.

Paper:  Dai et al. (2019), https://arxiv.org/abs/1901.02860
Cost:   time O(N (s + m) d), memory O(N (s + m + d)), for segments of s and a memory of m.
Choice: all segments of a sequence are computed at once, since a segment remembers the input of its
        own layer, which is known. As an encoder, a query sees its whole segment and nothing after
        it; when causal, it sees nothing later inside the segment either.
Choice: the memory ends with the sequence; nothing is remembered for the next batch.
Choice: `apply` has only one set of values and stops their gradient where they are remembered;
        `forward` adds a second set that still trains the projection.
"""

from functools import partial

from einops import rearrange
from pydantic import Field
from torch import Tensor

from longarena.attention.base import Attention, Mixer, Place
from longarena.attention.cards import CARDS
from longarena.attention.ops.decoder import Decoder
from longarena.attention.ops.detached_projection import project_detached
from longarena.attention.ops.key_values import blocks_back
from longarena.attention.ops.relative import RelativePositions, attend_from_last
from longarena.attention.ops.segments import Part, SegmentPlan, Segments, attend_in_segments
from longarena.attention.pattern_decoder import PatternDecoder
from longarena.options import Options
from longarena.shapes import Mask, Tokens, Values


class TransformerXLOptions(Options):
    """Segments of `segment` tokens, each of which remembers `memory` tokens before it."""

    segment: int = Field(128, gt=0)
    memory: int = Field(128, ge=0)


class TransformerXL(Attention[SegmentPlan]):
    """Multi-head softmax attention in segments with memory and relative positions."""

    card = CARDS["transformer-xl"]
    options_type = TransformerXLOptions
    has_own_positions = True

    def __init__(
        self, place: Place, options: TransformerXLOptions, previous: Mixer | None = None
    ) -> None:
        super().__init__(place, options, previous)
        self.options = options
        self.positions = RelativePositions(place.width, place.qkv_width, place.num_heads)

    def plan(self, x: Tokens, mask: Mask) -> SegmentPlan:
        segments = Segments.of(x.shape[1], self.options.segment, self.options.memory)
        k, k_old = (self.split(t) for t in project_detached(self.key, x))
        parts = Part(k_old, mask, segments.remembered()), Part(k, mask, segments.own())
        relation = self.positions(segments.segment, segments.segment + segments.memory)
        return SegmentPlan(self.split(self.query(x)), parts, relation, self.place.causal)

    def apply(self, plan: SegmentPlan, v: Values) -> Values:  # type: ignore[override]
        return attend_in_segments(plan, (v.detach(), v))

    def forward(self, x: Tokens, mask: Mask) -> Tokens:
        v, v_old = (self.split(t) for t in project_detached(self.value, x))
        y = attend_in_segments(self.plan(x, mask), (v_old, v))
        merged: Tensor = self.output(rearrange(y, "b h n d -> b n (h d)"))
        return merged

    def decoder(self, batch: int) -> Decoder:
        segment, memory = self.options.segment, self.options.memory
        attend = partial(attend_from_last, self.positions(1, segment + memory))
        return PatternDecoder(self, batch, [blocks_back(segment, memory)], attend)

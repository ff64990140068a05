"""Transformer-XL: segments that remember the states before them, and relative positions.

    y_i = sum_j softmax_j(relative logit_ij) v_j      j in the segment of i, or one of the `memory`
                                                      positions before that segment

What is remembered carries no gradient: keys and values of the memory are W stopgrad(x), so the
loss of a segment trains the projections but not the states of an earlier one. From layer to layer
sight grows by the memory's length, to the left.

Paper:  Dai et al. (2019), https://arxiv.org/abs/1901.02860
Cost:   time O(N (s + m) d), memory O(N (s + m + d)), for segments of s and a memory of m.
Choice: all segments of a sequence are computed at once, for what a segment remembers is the input
        of its own layer, which is known. As an encoder it sees all of its segment, and nothing
        after it; when causal also inside of the segment nothing later.
Choice: a part of the sequence is remembered for its own sequence only, never for the next batch.
Choice: `apply` has only one set of values and stops their gradient where they are remembered;
        `forward` gives it a second set that still trains the projection.
"""

from einops import rearrange
from pydantic import Field
from torch import Tensor

from longarena.attention.base import Attention, Mixer, MixerCard, Place
from longarena.attention.relative import RelativePositions
from longarena.attention.remember import project_and_remember
from longarena.attention.segments import Part, SegmentPlan, Segments, attend_in_segments
from longarena.options import Options
from longarena.shapes import Mask, Tokens, Values


class TransformerXLOptions(Options):
    """Segments of `segment` tokens, each of which remembers `memory` tokens before it."""

    segment: int = Field(128, gt=0)
    memory: int = Field(128, ge=0)


class TransformerXL(Attention[SegmentPlan]):
    """Multi-head softmax attention in segments with memory and relative positions."""

    card = MixerCard(
        name="transformer-xl",
        title="Transformer-XL",
        family="recurrence",
        paper="https://arxiv.org/abs/1901.02860",
        year=2019,
        time="N (s + m)",
        memory="N (s + m)",
        exponent=1.0,
        decodes=True,
        causal=True,
        sketch={"segment": 8, "memory": 8},
    )
    options_type = TransformerXLOptions
    has_own_positions = True

    def __init__(
        self, place: Place, options: TransformerXLOptions, previous: Mixer | None = None
    ) -> None:
        super().__init__(place, options, previous)
        self.options = options
        self.positions = RelativePositions(place)

    def plan(self, x: Tokens, mask: Mask) -> SegmentPlan:
        segments = Segments.of(x.shape[1], self.options.segment, self.options.memory)
        k, k_old = (self.split(t) for t in project_and_remember(self.key, x))
        parts = Part(k_old, mask, segments.remembered()), Part(k, mask, segments.own())
        relation = self.positions(segments.segment, segments.segment + segments.memory)
        return SegmentPlan(self.split(self.query(x)), parts, relation, self.place.causal)

    def apply(self, plan: SegmentPlan, v: Values) -> Values:  # type: ignore[override]
        return attend_in_segments(plan, (v.detach(), v))

    def forward(self, x: Tokens, mask: Mask) -> Tokens:
        v, v_old = (self.split(t) for t in project_and_remember(self.value, x))
        y = attend_in_segments(self.plan(x, mask), (v_old, v))
        merged: Tensor = self.output(rearrange(y, "b h n d -> b n (h d)"))
        return merged

"""Compressive Transformer: what leaves the memory of a Transformer-XL is compressed and kept.

    y_i = sum_j softmax_j(relative logit_ij) v_j      j in the segment of i, in the `memory` before
                                                      it, or in `compressed` slots before that

A slot holds `rate` states, so the same number of keys reaches further back (`compression.py` says
how states are compressed). No gradient flows through either memory to the states, and the task's
loss does not train the compression: it has a loss of its own, which in turn trains nothing else.

Paper:  Rae et al. (2020), https://arxiv.org/abs/1911.05507
Cost:   time O(N (s + m + c) d), memory O(N (s + m + c + d)).
Choice: each slot counts as one position, as if the three kinds of keys stood in one line.
Choice: the memory is a whole number of segments and a segment a whole number of slots.
Choice: in `apply` the value of a slot is the mean of the values of its states (most-used: the value
        of its state), which is linear; `forward` projects the compressed states themselves.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
import torch.nn.functional as F
from einops import rearrange
from jaxtyping import Bool, Float
from pydantic import Field, model_validator
from torch import Tensor

from longarena.attention.base import Attention, Mixer, Place
from longarena.attention.cards import CARDS
from longarena.attention.ops.compression import (
    Convolution,
    Leaving,
    SlotStates,
    max_of_groups,
    mean_of_groups,
    most_used,
    real_in_groups,
    reconstruction_loss,
)
from longarena.attention.ops.decoder import Decoder
from longarena.attention.ops.detached_projection import project_detached
from longarena.attention.ops.key_values import KeyValues, Rows, blocks_back
from longarena.attention.ops.prompt_decoder import PromptDecoder
from longarena.attention.ops.relative import RelativePositions, attend_from_last
from longarena.attention.ops.segments import Part, SegmentPlan, Segments, Span, attend_in_segments
from longarena.attention.ops.slots import Arrived, Groups, MostUsed, Slots, SlotSizes
from longarena.attention.pattern_decoder import key_values
from longarena.options import Options
from longarena.shapes import Heads, Mask, Tokens, Values

SlotHeads = Float[Tensor, "batch heads slots size"]
POOLS = {"mean": mean_of_groups, "max": max_of_groups}


class CompressiveOptions(Options):
    """Segments, the memory of each, and `compressed` slots of `rate` older states each."""

    segment: int = Field(128, gt=0)
    memory: int = Field(128, gt=0)
    compressed: int = Field(128, gt=0)
    rate: int = Field(4, gt=0)
    compression: Literal["conv", "mean", "max", "most-used"] = "conv"

    @model_validator(mode="after")
    def _segments_leave_whole(self) -> "CompressiveOptions":
        for name, value, unit in (
            ("segment", self.segment, self.rate),
            ("memory", self.memory, self.segment),
        ):
            if value % unit:
                remedy = -(-value // unit) * unit
                raise ValueError(f"{name} {value} is not a multiple of {unit}; choose {remedy}")
        return self


@dataclass(frozen=True)
class Compressed:
    """The compressed states, which of them are real, and how `apply` compresses values."""

    states: SlotStates
    mask: Bool[Tensor, "batch slots"]
    summarise: Callable[[Tokens], SlotStates]


@dataclass(frozen=True)
class CompressivePlan:
    """The plan of all segments, and the slots that they see."""

    segments: SegmentPlan
    slots: Compressed


class Compressive(Attention[CompressivePlan]):
    """Multi-head softmax attention in segments with memory and compressed memory."""

    card = CARDS["compressive"]
    options_type = CompressiveOptions
    has_own_positions = True

    def __init__(
        self, place: Place, options: CompressiveOptions, previous: Mixer | None = None
    ) -> None:
        super().__init__(place, options, previous)
        self.options = options
        self.positions = RelativePositions(place.width, place.qkv_width, place.num_heads)
        self.leaving = Leaving(options.segment, options.memory // options.segment)
        self.loss: Tensor | None = None
        if options.compression == "conv":
            self.convolution = Convolution(place.width, options.rate)

    def plan(self, x: Tokens, mask: Mask) -> CompressivePlan:
        segments = Segments.of(x.shape[1], self.options.segment, self.options.memory)
        q = self.split(self.query(x))
        k, k_old = (self.split(t) for t in project_detached(self.key, x))
        slots = self._compress(x.detach(), mask, q, k)
        parts = (
            Part(
                self.split(self.key(slots.states.detach())), slots.mask, self._slots_seen(segments)
            ),
            Part(k_old, mask, segments.remembered()),
            Part(k, mask, segments.own()),
        )
        relation = self.positions(segments.segment, sum(part.span.size for part in parts))
        return CompressivePlan(SegmentPlan(q, parts, relation, self.place.causal), slots)

    def apply(self, plan: CompressivePlan, v: Values) -> Values:  # type: ignore[override]
        heads = v.shape[1]
        v_slots = plan.slots.summarise(rearrange(v.detach(), "b h n d -> b n (h d)"))
        v_slots = rearrange(v_slots, "b t (h d) -> b h t d", h=heads)
        return attend_in_segments(plan.segments, (v_slots, v.detach(), v))

    def forward(self, x: Tokens, mask: Mask) -> Tokens:
        plan = self.plan(x, mask)
        v, v_old = (self.split(t) for t in project_detached(self.value, x))
        v_slots = self.split(self.value(plan.slots.states.detach()))
        y = attend_in_segments(plan.segments, (v_slots, v_old, v))
        learns = self.training and self.options.compression == "conv"
        self.loss = self._loss(plan, v_slots, v, mask) if learns else None
        merged: Tensor = self.output(rearrange(y, "b h n d -> b n (h d)"))
        return merged

    def extra_loss(self) -> Tensor | None:
        return self.loss

    def decoder(self, batch: int) -> Decoder:
        return CompressiveDecoder(self, batch)

    def compressed_rows(self, states: Tokens) -> Rows:
        """Return the keys and values of the slots that whole groups of states become."""
        real = torch.ones(states.shape[:2], dtype=torch.bool, device=states.device)
        return key_values(self, self._one_of_each_group(states, real))

    def _compress(self, x: Tokens, mask: Mask, q: Heads, k: Heads) -> Compressed:
        if self.options.compression == "most-used":
            return self._keep_most_used(x, mask, q.detach(), k.detach())
        rate, extra = self.options.rate, -x.shape[1] % self.options.segment
        real = F.pad(mask, (0, extra))
        return Compressed(
            self._one_of_each_group(F.pad(x, (0, 0, 0, extra)), real),
            real_in_groups(real, rate).any(dim=2)[..., 0],
            lambda v: mean_of_groups(F.pad(v, (0, 0, 0, extra)), real, rate),
        )

    def _one_of_each_group(self, x: Tokens, mask: Mask) -> SlotStates:
        if self.options.compression == "conv":
            slots: Tensor = self.convolution(x, mask)
            return slots
        return POOLS[self.options.compression](x, mask, self.options.rate)

    def _keep_most_used(self, x: Tokens, mask: Mask, q: Heads, k: Heads) -> Compressed:
        usage = self.leaving.usage(q, k, mask)
        kept = self.choose(lambda: most_used(usage, mask, self.options.rate))
        inside = kept < x.shape[1]
        kept = kept.clamp_max(x.shape[1] - 1)

        def take(v: Tokens) -> SlotStates:
            return v.gather(1, kept[..., None].expand(-1, -1, v.shape[2]))

        return Compressed(take(x), mask.gather(1, kept) & inside, take)

    def _slots_seen(self, segments: Segments) -> Span:
        """Give the slots that every segment sees: the last ones before its memory."""
        rate = self.options.rate
        remembered, step = self.options.memory // rate, segments.segment // rate
        most = max(0, (segments.number - 1) * step - remembered)
        size = min(self.options.compressed, most)
        return Span(-remembered - size, size, step)

    def _loss(self, plan: CompressivePlan, v_slots: SlotHeads, v: Heads, mask: Mask) -> Tensor:
        """Compute the loss together with its slope, so that the backward pass need not repeat it.

        The loss depends on the compressed states alone, through the keys and values of the slots,
        so the slope with respect to these is all that the backward pass needs.
        """
        states, parts = plan.slots.states, plan.segments.parts
        if mask.shape[1] <= self.options.memory:
            return 0.0 * self.convolution.weight.sum()  # nothing has left the memory yet
        q, k, v = (t.detach() for t in (plan.segments.q, parts[-1].k, v))
        k_new, v_new = (t.detach().requires_grad_() for t in (parts[0].k, v_slots))
        with torch.enable_grad():
            loss = reconstruction_loss(
                self.leaving.judges(q),
                self.leaving.judging(mask),
                self.leaving.left(k, v, mask),
                self.leaving.left(k_new, v_new, plan.slots.mask, self.options.rate),
                batch=len(mask),
            )
            # the slope of the sum, since that of the mean is too small for half precision
            slopes = torch.autograd.grad(loss * q.numel(), (k_new, v_new))
        weights = self.key.weight.detach(), self.value.weight.detach()
        slope = sum(
            rearrange(slope, "b h t d -> b t (h d)") @ weight
            for slope, weight in zip(slopes, weights, strict=True)
        )
        return loss.detach() + ((states - states.detach()) * slope).sum() / q.numel()


class CompressiveDecoder(PromptDecoder):
    """Keep the keys and values of the segment, its memory and the slots; of states, one group."""

    def __init__(self, mixer: Compressive, batch: int) -> None:
        super().__init__(mixer)
        self.mixer = mixer
        place, options = mixer.place, mixer.options
        segment, memory, compressed = options.segment, options.memory, options.compressed
        row = mixer.zeros(batch, place.num_heads, 2 * place.head_size)
        self.kept = KeyValues(row, blocks_back(segment, memory))
        self.relation = mixer.positions(1, compressed + memory + segment)
        sizes = SlotSizes(segment, memory, compressed, options.rate)
        if options.compression == "most-used":
            self.slots: Slots = MostUsed(sizes, row)
        else:
            state = mixer.zeros(batch, place.width)
            self.slots = Groups(sizes, state, row, mixer.compressed_rows)

    def remember(self, x: Tokens) -> None:
        rows = key_values(self.mixer, x)
        self.kept.keep(rows, 0)
        self.slots.remember(Arrived(x, self.mixer.queries(x), rows))

    def mix(self, x: Tokens) -> Tokens:
        self.kept.keep(key_values(self.mixer, x), self.position)
        q, rows = self.mixer.queries(x), self.kept.seen(self.position)
        seen = torch.cat([self.slots.seen(self.position), rows], dim=2)
        y = attend_from_last(self.relation, q, *seen.chunk(2, dim=-1))
        self.slots.note(Arrived(x, q, rows), self.position)
        return self.mixer.merged(y)

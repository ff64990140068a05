"""What the attentions by features share: how they are applied, and how they go token by token.

A mechanism says what its features are (`plan`), and how many. The sums over keys are in
`ops/kernel.py`; when causal they are carried from token to token, so decoding takes the same time
and the same memory at every token:

    S_i = S_{i-1} + phi(k_i) v_i^T      z_i = z_{i-1} + phi(k_i)
    y_i = phi(q_i) S_i / phi(q_i) . z_i
"""

from abc import abstractmethod
from typing import ClassVar

from longarena.attention.base import Attention
from longarena.attention.ops.decay_scan import ScanPlan
from longarena.attention.ops.decoder import Decoder
from longarena.attention.ops.kernel import (
    KernelPlan,
    Sums,
    causal_kernel_attention,
    kernel_attention,
    normalised,
    with_ones,
)
from longarena.attention.ops.scan_decoder import ScanDecoder, State
from longarena.attention.ops.visible import all_real
from longarena.shapes import Mask, Tokens, Values


class KernelAttention(Attention[KernelPlan]):
    """Multi-head attention by the features of a kernel."""

    # the smallest normaliser; 0 leaves that to the precision
    floor: ClassVar[float] = 0.0

    @property
    @abstractmethod
    def num_features(self) -> int:
        """The number of features of a head."""

    @abstractmethod
    def plan(self, x: Tokens, mask: Mask, first: int = 0) -> KernelPlan:
        """Compute the features of the tokens, which stand at positions from `first` on."""

    def apply(self, plan: KernelPlan, v: Values) -> Values:  # type: ignore[override]
        attend = causal_kernel_attention if self.place.causal else kernel_attention
        return attend(plan, v, self.floor)

    def decoder(self, batch: int) -> Decoder:
        return ScanDecoder(self.first_state(batch), self.begin, self.finish)

    def first_state(self, batch: int) -> State:
        """Make the sums before the first token, with a column for the normaliser."""
        place = self.place
        return self.zeros(batch, place.num_heads, self.num_features, place.head_size + 1)

    def begin(self, x: Tokens, first: int) -> tuple[ScanPlan, Sums]:
        """Say what the tokens add to the sums, and how they read them."""
        return self.plan(x, all_real(x), first).scan, with_ones(self.split(self.value(x)))

    def finish(self, sums: Sums, x: Tokens) -> Tokens:
        """Turn what the tokens have read into answers."""
        return self.merged(normalised(sums, self.floor))

"""H-Transformer-1D: exact attention to near tokens, and coarser the farther away they are.

    y_i = sum_j exp(Q_i . K_j / sqrt(d)) v_j / sum_j exp(Q_i . K_j / sqrt(d))

Q_i and K_j are the query and the key themselves where j is in the block of i or in one beside it.
Farther away they are means over cells of 2, 4, 8 ... tokens, so that all pairs of tokens of two
cells share one exponential (`ops/hierarchical_attention.py`). The blocks of the attention matrix
grow with their distance from the diagonal, and each has at most `block` different rows and columns:
far from the diagonal it is of low rank.

Paper:  Zhu and Soricut (2021), https://arxiv.org/abs/2107.11906
Cost:   time O(N b d), memory O(N d), for blocks of b.
Choice: neighbouring blocks are exact, as in the authors' code (google/flaxformer).
Choice: the hierarchy begins with the row and goes on behind it in empty cells. The mean of two
        cells leaves out one that is empty, however many tokens the other has, as in their code;
        sums of values and the normaliser count tokens.
Choice: no relative position bias, an addition of their code. Rotary positions turn queries and keys
        before the means are taken.
Choice: not causal. The mean query of a cell knows its last token; the authors' language model
        takes the first query of a cell instead.
"""

from dataclasses import dataclass

from pydantic import Field, field_validator

from longarena.attention.base import Attention, Mixer, Place
from longarena.attention.cards import CARDS
from longarena.attention.ops.hierarchical_attention import hierarchical_attention
from longarena.options import Options
from longarena.shapes import Heads, Mask, Tokens, Values


class HTransformerOptions(Options):
    """How many tokens, and on every level cells, a `block` has."""

    block: int = Field(16, ge=2)

    @field_validator("block")
    @classmethod
    def _has_halves(cls, block: int) -> int:
        if block % 2:
            raise ValueError(f"a block is cut into halves; choose an even number, as {block + 1}")
        return block


@dataclass(frozen=True)
class HTransformerPlan:
    """Queries, keys, and the mask of the real tokens."""

    q: Heads
    k: Heads
    mask: Mask


class HTransformer(Attention[HTransformerPlan]):
    """Multi-head attention over a hierarchy of cells."""

    card = CARDS["h-transformer"]
    options_type = HTransformerOptions
    takes_rotary = True
    is_function = True

    def __init__(
        self, place: Place, options: HTransformerOptions, previous: Mixer | None = None
    ) -> None:
        super().__init__(place, options, previous)
        self.block = options.block

    def plan(self, x: Tokens, mask: Mask) -> HTransformerPlan:
        return HTransformerPlan(self.queries(x), self.keys(x), mask)

    def apply(self, plan: HTransformerPlan, v: Values) -> Values:  # type: ignore[override]
        return hierarchical_attention(plan.q, plan.k, v, plan.mask, self.block)

"""The decoder of the mechanisms with fixed patterns: softmax over the kept keys that a token sees.

    y_i = sum_j softmax_j(q_i . k_j / sqrt(d)) v_j      j among what the sights show at position i

A mechanism gives one or more sights (`key_values.py`): what its heads keep, and what of that they
see. Sights of the same heads share one softmax. A token that is shown nothing sees itself.

Cost:   time O(m d) for a token that sees m keys, memory what the sights keep.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

import torch
import torch.nn.functional as F
from torch import Tensor

from longarena.attention.base import Attention, Plan
from longarena.attention.ops.key_values import KeyValues, Rows, Sight
from longarena.attention.ops.prompt_decoder import PromptDecoder
from longarena.shapes import Heads, Tokens

Attend = Callable[[Tensor, Tensor, Tensor], Tensor]


class PatternDecoder(PromptDecoder):
    """Keep keys and values by some sights; `attend` takes one query and the keys that it sees."""

    def __init__(
        self,
        mixer: Attention[Plan],
        batch: int,
        sights: Sequence[Sight],
        attend: Attend = F.scaled_dot_product_attention,
    ) -> None:
        super().__init__(mixer)
        self.mixer, self.attend = mixer, attend
        row = mixer.zeros(batch, mixer.place.num_heads, 2 * mixer.place.head_size)
        self.kept = [KeyValues(row, sight) for sight in sights]

    def remember(self, x: Tokens) -> None:
        self._keep(key_values(self.mixer, x))

    def mix(self, x: Tokens) -> Tokens:
        newest = key_values(self.mixer, x, self.position)
        self._keep(newest)
        q = self.mixer.queries(x, self.position)
        return self.mixer.merged(torch.cat(list(self._answers(q, newest)), dim=1))

    def _keep(self, rows: Rows) -> None:
        for kept in self.kept:
            kept.keep(rows, self.position)

    def _answers(self, q: Heads, newest: Rows) -> Iterator[Heads]:
        """Answer the heads of every sight, or of several sights together, in their order."""
        for heads, group in groupby(self.kept, key=lambda kept: kept.sight.heads):
            shown = [kept.seen(self.position) for kept in group]
            rows = torch.cat(shown, dim=2) if len(shown) > 1 else shown[0]
            if rows.shape[2] == 0:
                rows = newest[:, heads]
            yield self.attend(q[:, heads], *rows.chunk(2, dim=-1))


def key_values(mixer: Attention[Plan], x: Tokens, first: int = 0) -> Rows:
    """Return the keys and values of tokens that stand from `first` on, side by side."""
    return torch.cat([mixer.keys(x, first), mixer.split(mixer.value(x))], dim=-1)

"""Keys and values of tokens that belong to groups, such as buckets or clusters, for generation.

A token has one group in each of several rounds, and sees the last `window` tokens of it: those
before it, and itself if it `sees_itself`, which otherwise it does only if it sees nothing else.
This is what `sort_in_rounds` shows when causal.

Cost:   time O(rounds N) for the newest token to find what it sees, memory O(N d).
Choice: all tokens are kept. Those that left the windows of all their groups could go; but the
        windows of all groups together hold at least as many tokens as the longest sequence has.
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from longarena.attention.ops.cache import Cache
from longarena.attention.ops.decoder import Carrier

KeysAndValues = Float[Tensor, "batch heads tokens key_and_value"]
Groups = Int[Tensor, "batch heads tokens rounds"]


class GroupedTokens(Carrier):
    """The keys and values of all tokens, side by side, and the groups of each token."""

    def __init__(
        self,
        row: Float[Tensor, "batch heads key_and_value"],
        num_rounds: int,
        window: int,
        sees_itself: bool = False,
    ) -> None:
        self.window, self.sees_itself = window, sees_itself
        self.rows = Cache(row)
        self.groups = Cache(row.new_zeros(*row.shape[:2], num_rounds, dtype=torch.int32))

    def keep(self, rows: KeysAndValues, groups: Groups) -> None:
        """Keep more tokens."""
        self.rows.extend(rows)
        self.groups.extend(groups)

    def seen(self) -> Bool[Tensor, "batch heads 1 tokens"]:
        """Tell which tokens the newest one sees."""
        groups = self.groups.rows
        same = groups == groups[:, :, -1:]
        if not self.sees_itself:
            same[:, :, -1] = False
        # the newest of a group is number 1, the one before it number 2
        number = same.flip(2).cumsum(dim=2).flip(2)
        seen = (same & (number <= self.window)).any(dim=-1)
        seen[:, :, -1] |= ~seen.any(dim=-1)
        return seen[:, :, None]

"""Native sparse attention: all blocks coarsely, a few of them exactly, and what is near.

Tokens are cut into blocks of b. Three branches, each with keys and values of its own, answer the
same query, and a head weighs their answers by gates:

    y_i = sum_branches sigmoid(w . x_i) sum_j softmax_j(q_i . k_j / sqrt(d)) v_j

    compressed   j is a block, whose key and value an MLP makes of those of its tokens
    selected     j is a token of one of the k blocks that i selects: the first, its own and those
                 beside it, and the blocks that have the largest weights in the compressed branch
    window       j is a token near i

No gradient flows through the selection; what it goes by is trained in the compressed branch.

Paper:  Yuan et al. (2025), https://arxiv.org/abs/2502.11089
Cost:   time O(N (N / b + k b + w) d), memory O(N d + N^2 / b), for a window of w.
Choice: compressed blocks are those that are selected, without overlap (in the paper's letters,
        l = l' = d), as in fla-org/flash-linear-attention. The paper says no more of the MLP; here
        it has one hidden layer of a head's size with ReLU, no biases, and serves all heads.
Choice: every head selects for itself. In the paper heads that share keys select together.
Choice: when causal, as in the paper, a block is seen compressed from its last token on. A query
        that sees none gets zero from that branch.
Choice: both directions are our extension: every block is seen, an incomplete last one too, the
        block after a query's own is always selected, and the window has the query at its centre.
Choice: rotary positions turn queries and all keys, also those that are then compressed, as in fla.
Choice: long sequences are mixed one at a time, which needs less memory and is no slower.
"""

import torch
import torch.nn.functional as F
from einops import rearrange
from jaxtyping import Bool, Float
from pydantic import Field
from torch import Tensor, nn

from longarena.attention.base import Mixer, Place
from longarena.attention.cards import CARDS
from longarena.attention.ops.block_selection import (
    NUM_FIXED,
    Compression,
    Summaries,
    look_at_blocks,
    select_blocks,
)
from longarena.attention.ops.blocks import Window
from longarena.attention.ops.cache import Cache
from longarena.attention.ops.chosen_attention import attend_to_chosen
from longarena.attention.ops.chosen_blocks import arrange
from longarena.attention.ops.decoder import Decoder
from longarena.attention.ops.overlapping import attend_in_windows
from longarena.attention.ops.projection import projection
from longarena.attention.ops.prompt_decoder import PromptDecoder
from longarena.attention.ops.rotary import rotate_by_position
from longarena.attention.ops.visible import visible
from longarena.options import Options
from longarena.shapes import Heads, Mask, Tokens

Pairs = tuple[Heads, Heads]
KeyValueRows = Float[Tensor, "batch heads rows key_and_value"]

# queries per problem of the window: fewer load fewer keys that no query sees, more share more
QUERIES = 64
# so many tokens are mixed at once, or else one sequence
TOKENS_AT_ONCE = 1 << 12


class NativeSparseOptions(Options):
    """Blocks of `block` tokens, of which a query selects `select`; `window` tokens near it."""

    block: int = Field(32, gt=0)
    select: int = Field(8, ge=NUM_FIXED)
    window: int = Field(256, gt=0)


def window_of(width: int, length: int, causal: bool) -> Window:
    """Show a query the last `width` keys, or half as many on either side of it."""
    before = min(width - 1 if causal else width // 2, length - 1)
    return Window(min(QUERIES, length), before, 0 if causal else before)


class NativeSparse(Mixer):
    """Multi-head attention in three gated branches."""

    card = CARDS["native-sparse"]
    options_type = NativeSparseOptions
    takes_rotary = True

    def __init__(
        self, place: Place, options: NativeSparseOptions, previous: Mixer | None = None
    ) -> None:
        super().__init__(place, options, previous)
        self.options = options
        block, size = options.block, place.head_size

        def inwards() -> nn.Linear:
            return projection(place.width, place.qkv_width)

        self.query, self.key, self.value = inwards(), inwards(), inwards()
        self.compressed_key, self.compressed_value = inwards(), inwards()
        self.selected_key, self.selected_value = inwards(), inwards()
        self.output = projection(place.qkv_width, place.width)
        self.gate = projection(place.width, 3 * place.num_heads)
        self.key_compression = Compression(block, size)
        self.value_compression = Compression(block, size)
        self.key_position = nn.Parameter(nn.init.xavier_uniform_(torch.empty(block, size)))
        self.value_position = nn.Parameter(nn.init.xavier_uniform_(torch.empty(block, size)))

    def forward(self, x: Tokens, mask: Mask) -> Tokens:
        count = max(1, TOKENS_AT_ONCE // x.shape[1])
        some = zip(torch.split(x, count), torch.split(mask, count), strict=True)
        return torch.cat([self.merged(self._answer(*rows)) for rows in some])

    def decoder(self, batch: int) -> Decoder:
        return NativeSparseDecoder(self, batch)

    def _answer(self, x: Tokens, mask: Mask) -> Heads:
        """Add up the answers of the branches, times their gates."""
        options, causal = self.options, self.place.causal
        q, gates = self.turned(self.query(x)), self.gates(x)
        # one branch after the other, so that the backward pass holds one at a time
        k, v = self.compressed(*self.compressed_pairs(x), mask)
        blocks = look_at_blocks(mask, options.block, causal)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=visible(blocks.seen))
        y = y * gates[0].masked_fill(~blocks.seen.any(dim=-1, keepdim=True), 0.0)

        chosen = self.choose(lambda: select_blocks(q.detach(), k.detach(), blocks, options.select))
        arrangement = arrange(chosen, mask, options.block, causal)
        y = torch.addcmul(y, gates[1], attend_to_chosen(q, *self.selected_pairs(x), arrangement))

        window = window_of(options.window, x.shape[1], causal)
        near = attend_in_windows(q, *self.window_pairs(x), mask, window)
        return torch.addcmul(y, gates[2], near)

    def gates(self, x: Tokens) -> Float[Tensor, "3 batch heads length 1"]:
        """Open or close the branches for every head and token."""
        opened: Tensor = self.gate(x).sigmoid()
        return rearrange(opened, "b n (h c) -> c b h n 1", c=3)

    def compressed_pairs(self, x: Tokens, first: int = 0) -> Pairs:
        """Return the keys and values of tokens that are to be compressed."""
        return self.turned(self.compressed_key(x), first), self.split(self.compressed_value(x))

    def selected_pairs(self, x: Tokens, first: int = 0) -> Pairs:
        """Return the keys and values of tokens that may be selected."""
        return self.turned(self.selected_key(x), first), self.split(self.selected_value(x))

    def window_pairs(self, x: Tokens, first: int = 0) -> Pairs:
        """Return the keys and values of tokens that are near."""
        return self.turned(self.key(x), first), self.split(self.value(x))

    def compressed(self, k: Heads, v: Heads, mask: Mask) -> tuple[Summaries, Summaries]:
        """Make one key and one value of every block."""
        return (
            self.key_compression(k, mask, self.key_position),
            self.value_compression(v, mask, self.value_position),
        )

    def split(self, x: Tokens) -> Heads:
        """Cut the channels into heads."""
        return rearrange(x, "b n (h d) -> b h n d", h=self.place.num_heads)

    def turned(self, x: Tokens, first: int = 0) -> Heads:
        """Cut into heads, and rotate by position, from `first` on, where that is asked for."""
        heads = self.split(x)
        return rotate_by_position(heads, first=first) if self.place.rotary else heads

    def merged(self, y: Heads) -> Tokens:
        """Join the answers of the heads, and project them to the width of the tokens."""
        merged: Tensor = self.output(rearrange(y, "b h n d -> b n (h d)"))
        return merged


class NativeSparseDecoder(PromptDecoder):
    """Keep keys and values: of compressed blocks, of all tokens, and of those in the window.

    Those of the latest tokens are kept too, until they are compressed.
    """

    def __init__(self, mixer: NativeSparse, batch: int) -> None:
        super().__init__(mixer)
        self.mixer, block = mixer, mixer.options.block
        row = mixer.zeros(batch, mixer.place.num_heads, 2 * mixer.place.head_size)
        self.latest = Cache(row, limit=block)
        self.compressed = Cache(row, rows_of=lambda length: length // block)
        self.selectable = Cache(row)
        self.near = Cache(row, limit=mixer.options.window)

    def remember(self, x: Tokens) -> None:
        pairs = self.mixer.compressed_pairs(x)
        complete = x.shape[1] - x.shape[1] % self.mixer.options.block
        if complete:
            self._compress(torch.cat(pairs, dim=-1)[:, :, :complete])
        self.latest.extend(torch.cat(pairs, dim=-1))
        self.selectable.extend(torch.cat(self.mixer.selected_pairs(x), dim=-1))
        self.near.extend(torch.cat(self.mixer.window_pairs(x), dim=-1))

    def mix(self, x: Tokens) -> Tokens:
        mixer, first = self.mixer, self.position
        latest = self.latest.extend(torch.cat(mixer.compressed_pairs(x, first), dim=-1))
        if (first + 1) % mixer.options.block == 0:
            self._compress(latest)
        self.selectable.extend(torch.cat(mixer.selected_pairs(x, first), dim=-1))
        near = self.near.extend(torch.cat(mixer.window_pairs(x, first), dim=-1))

        q, gates = mixer.turned(mixer.query(x), first), mixer.gates(x)
        y = gates[2] * attend_to(q, near) + gates[1] * attend_to(q, *self._selected(q))
        if len(self.compressed):
            y = y + gates[0] * attend_to(q, self.compressed.rows)
        return mixer.merged(y)

    def _compress(self, pairs: KeyValueRows) -> None:
        mask = torch.ones(len(pairs), pairs.shape[2], dtype=torch.bool, device=pairs.device)
        k, v = pairs.chunk(2, dim=-1)
        self.compressed.extend(torch.cat(self.mixer.compressed(k, v, mask), dim=-1))

    def _selected(self, q: Heads) -> tuple[KeyValueRows, Bool[Tensor, "batch heads 1 keys"]]:
        """Gather the tokens of the blocks that the newest token selects."""
        options, rows = self.mixer.options, self.selectable.rows
        mask = torch.ones(len(rows), rows.shape[2], dtype=torch.bool, device=rows.device)
        blocks = look_at_blocks(mask, options.block, causal=True, first=self.position)
        k, _ = self.compressed.rows.chunk(2, dim=-1)
        k = F.pad(k, (0, 0, 0, blocks.seen.shape[-1] - k.shape[2]))
        chosen = select_blocks(q, k, blocks, options.select)[:, :, 0]
        tokens = chosen[..., None] * options.block + torch.arange(options.block, device=q.device)
        tokens = tokens.flatten(2)
        found = tokens.clamp_max(self.position)[..., None].expand(-1, -1, -1, rows.shape[3])
        return rows.gather(2, found), (tokens <= self.position)[:, :, None]


def attend_to(q: Heads, pairs: KeyValueRows, allowed: Tensor | None = None) -> Heads:
    """Attend from one query to keys and values that lie side by side."""
    k, v = pairs.chunk(2, dim=-1)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=allowed)

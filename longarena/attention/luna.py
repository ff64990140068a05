"""Luna: a few packed vectors read the sequence, the sequence reads them, and both go on.

The first p tokens P are learned vectors before the sequence X, and travel with it from layer to
layer:

    Y_P = multihead(P, X)                the packed vectors read the sequence
    Y_X = multihead(X, Y_P) W            every token reads the packed vectors

multihead(A, B) is softmax attention with queries of A, and keys and values of B. Unlike the points
of the Set Transformer, which start anew in each layer, P brings what it read in the layers below.

Paper:  Ma et al. (2021), https://arxiv.org/abs/2106.01540
Cost:   time O(N p d), memory O(N d + p d), per head of size d.
Choice: as in the authors' code (XuezheMax/fairseq-apollo), Y_P has no output map W, and the tokens
        read it as it is, without the residual path and the norm behind it.
Choice: keys and values are two maps of their own in both attentions, as in their models for the
        arena. Elsewhere they share one, as in the paper.
Choice: Y_P is added to P, so its heads share the width of the tokens whatever `qkv_width` says.
Choice: their layer norms after the attention, and P has a norm of its own and no feed-forward. Here
        the encoder treats P as it treats tokens: norms before, and a feed-forward behind.
Choice: all p vectors are used. Their code leaves out as many as the sequence is shorter than p.
Choice: no rotary positions: packed vectors stand nowhere in the sequence.
Choice: not causal. Y_P knows the whole sequence; the authors' causal attention is another
        mechanism, which packs by a softplus and adds up what came before each token.
"""

import torch
import torch.nn.functional as F
from einops import rearrange
from jaxtyping import Float
from pydantic import Field
from torch import Tensor

from longarena.attention.base import Mixer, Place
from longarena.attention.cards import CARDS
from longarena.attention.ops.projection import projection
from longarena.attention.ops.visible import visible_keys
from longarena.options import Options
from longarena.shapes import Heads, Mask, Tokens


class LunaOptions(Options):
    """How many `packed` vectors stand before the sequence."""

    packed: int = Field(64, gt=0)


class Luna(Mixer):
    """Multi-head attention by way of the packed vectors, the first of the tokens."""

    card = CARDS["luna"]
    options_type = LunaOptions

    def __init__(self, place: Place, options: LunaOptions, previous: Mixer | None = None) -> None:
        super().__init__(place, options, previous)
        self.num_global_tokens = options.packed
        width, qkv_width = place.width, place.qkv_width
        self.pack_query, self.pack_key, self.pack_value = (
            projection(width, width) for _ in range(3)
        )
        self.query, self.key, self.value = (projection(width, qkv_width) for _ in range(3))
        self.output = projection(qkv_width, width)

    def forward(self, x: Tokens, mask: Mask) -> Tokens:
        packed = self.pack(x, mask)
        k, v = self.split(self.key(packed)), self.split(self.value(packed))
        # no mask: where a packed vector is padding, so are all tokens behind it
        y = F.scaled_dot_product_attention(self.split(self.query(x)), k, v)
        mixed: Tensor = self.output(rearrange(y, "b h n d -> b n (h d)"))
        # in place: nothing else keeps what a projection returns, and no other row is copied
        mixed[:, : self.num_global_tokens] = packed
        return mixed

    def pack(self, x: Tokens, mask: Mask) -> Float[Tensor, "batch packed width"]:
        """Let the packed vectors read the tokens behind them; if there are none, return zeros."""
        positions = torch.arange(x.shape[1], device=x.device)
        behind = mask & (positions >= self.num_global_tokens)
        q = self.split(self.pack_query(x[:, : self.num_global_tokens]))
        k, v = self.split(self.pack_key(x)), self.split(self.pack_value(x))
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=visible_keys(behind)[:, None, None])
        has_none = ~behind.any(dim=1)[:, None, None]
        return rearrange(y, "b h p d -> b p (h d)").masked_fill(has_none, 0.0)

    def split(self, x: Tokens) -> Heads:
        """Cut the channels into heads."""
        return rearrange(x, "b n (h d) -> b h n d", h=self.place.num_heads)

"""Set Transformer: a few learned points read the sequence, and the sequence reads them.

Induced set attention puts m learned points I between the tokens X:

    G = I + multihead(I, X)        the points read the sequence
    H = norm(G + ff(norm(G)))      and process what they read
    Y = multihead(X, H)            every token reads the points

Tokens reach each other through the points only. Nothing depends on order: without positions, a
permutation of the tokens permutes the answers. The encoder's residual path and MLP around the mixer
are the outer half of the second attention block.

Paper:  Lee et al. (2019), https://arxiv.org/abs/1810.00825
Cost:   time O(N m d), memory O(N d + m d), per head of size d.
Choice: the feed-forward of the points is one linear map and a ReLU, as in the authors' code; norms
        stand before it and after the block, since the encoder around the mixer is pre-norm.
"""

from typing import TypeAlias

import torch
import torch.nn.functional as F
from einops import rearrange
from jaxtyping import Float
from pydantic import Field
from torch import Tensor, nn

from longarena.attention.base import Mixer, Place
from longarena.attention.cards import CARDS
from longarena.attention.ops.projection import projection
from longarena.attention.ops.visible import visible_keys
from longarena.options import Options
from longarena.shapes import Mask, Tokens

NORM_EPSILON = 1e-6

Vectors: TypeAlias = Float[Tensor, "#batch vectors width"]
Answers: TypeAlias = Float[Tensor, "batch vectors width"]


class Multihead(nn.Module):
    """Softmax attention from some vectors to others, which may differ in number."""

    def __init__(self, width: int, qkv_width: int, num_heads: int) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.query, self.key, self.value = (projection(width, qkv_width) for _ in range(3))
        self.output = projection(qkv_width, width)

    def forward(self, readers: Vectors, x: Tokens, mask: Mask | None = None) -> Answers:
        q, k, v = self.query(readers), self.key(x), self.value(x)
        q, k, v = (rearrange(t, "b n (h d) -> b h n d", h=self.num_heads) for t in (q, k, v))
        keys = None if mask is None else visible_keys(mask)[:, None, None, :]
        y = F.scaled_dot_product_attention(q.expand(len(k), -1, -1, -1), k, v, attn_mask=keys)
        answers: Tensor = self.output(rearrange(y, "b h n d -> b n (h d)"))
        return answers


class Points(nn.Module):
    """Learned points that read a sequence: (B, N, D) in, (B, count, D) out."""

    def __init__(self, count: int, width: int, qkv_width: int, num_heads: int) -> None:
        super().__init__()
        self.start = nn.Parameter(nn.init.xavier_uniform_(torch.empty(count, width))[None])
        self.read = Multihead(width, qkv_width, num_heads)
        self.feed_norm = nn.LayerNorm(width, NORM_EPSILON)
        self.feed = nn.Linear(width, width)
        nn.init.xavier_uniform_(self.feed.weight)
        nn.init.zeros_(self.feed.bias)
        self.norm = nn.LayerNorm(width, NORM_EPSILON)

    def forward(self, x: Tokens, mask: Mask) -> Answers:
        points = self.start + self.read(self.start, x, mask)
        points = points + F.relu(self.feed(self.feed_norm(points)))
        answers: Tensor = self.norm(points)
        return answers


class SetTransformerOptions(Options):
    """How many `inducing` points stand between the tokens."""

    inducing: int = Field(64, gt=0)


class SetTransformer(Mixer):
    """Multi-head induced set attention."""

    card = CARDS["set-transformer"]
    options_type = SetTransformerOptions

    def __init__(
        self, place: Place, options: SetTransformerOptions, previous: Mixer | None = None
    ) -> None:
        super().__init__(place, options, previous)
        sizes = place.width, place.qkv_width, place.num_heads
        self.points = Points(options.inducing, *sizes)
        self.read = Multihead(*sizes)

    def forward(self, x: Tokens, mask: Mask) -> Tokens:
        answers: Tensor = self.read(x, self.points(x, mask))
        return answers

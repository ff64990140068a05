"""Logits in forms that need not all exist at once, and softmax attention with them.

    DotScores      S = Q K^T for any Q and K: a fused kernel takes them
    SharedScores   the same, but equal for every sequence of a batch: computed once
                   (`shared_logits.py`)
    RowScores      S_i is a function of tensors with a row for each query: computed for a block of
                   queries at a time, and again in the backward pass

    y_i = sum_j softmax_j(S_ij) v_j        when causal, over j <= i

Cost:   time O(N^2 d), memory O(N d).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from longarena.attention.ops.shared_logits import attend_by_shared, is_safe
from longarena.attention.ops.visible import visible_keys
from longarena.shapes import Mask, Values

BLOCK = 128


@dataclass(frozen=True)
class DotScores:
    """Logits that are products of q and k, both (B or 1, H, N, r)."""

    q: Tensor
    k: Tensor


@dataclass(frozen=True)
class SharedScores(DotScores):
    """Logits that are equal for every sequence: q and k are (1, H, N, r)."""


@dataclass(frozen=True)
class RowScores:
    """Logits that are a function of tensors (B or 1, H, N, ...) with a row for each query."""

    rows: tuple[Tensor, ...]
    logits: Callable[..., Tensor]


Scores = DotScores | RowScores


def all_logits(scores: Scores) -> Tensor:
    """Make all logits at once, which is for few queries only: (B or 1, H, queries, keys)."""
    if isinstance(scores, DotScores):
        return scores.q @ scores.k.mT
    logits: Tensor = scores.logits(*scores.rows)
    return logits


def mix(weights: Tensor, synthetic: Scores, dot: DotScores) -> Scores:
    """Add up two kinds of logits; the sum of two products is one product of longer vectors."""
    if isinstance(synthetic, DotScores):
        batch = dot.q.shape[0]
        q, k = (t.expand(batch, -1, -1, -1) for t in (synthetic.q, synthetic.k))
        return DotScores(
            torch.cat([weights[0] * q, weights[1] * dot.q], dim=-1), torch.cat([k, dot.k], dim=-1)
        )

    def logits(q: Tensor, *rows: Tensor) -> Tensor:
        made_up: Tensor = synthetic.logits(*rows)
        return weights[0] * made_up + weights[1] * (q @ dot.k.mT)

    return RowScores((dot.q, *synthetic.rows), logits)


def attend(scores: Scores, v: Values, mask: Mask, causal: bool = False) -> Values:
    """Attend to the real keys by softmax, in the way that suits the form of the logits."""
    if isinstance(scores, SharedScores) and is_safe(scores.q[0], scores.k[0]):
        return attend_by_shared(scores.q[0], scores.k[0], v, visible_keys(mask), causal)
    if isinstance(scores, DotScores):
        return dot_attention(scores, v, mask, causal)
    return row_attention(scores, v, mask, causal)


def dot_attention(scores: DotScores, v: Values, mask: Mask, causal: bool = False) -> Values:
    """Attend with a fused kernel, which needs q, k and v of one size."""
    batch, value_size = v.shape[0], v.shape[-1]
    size = max(scores.q.shape[-1], value_size)
    q, k = (
        F.pad(t, (0, size - t.shape[-1])).expand(batch, -1, -1, -1) for t in (scores.q, scores.k)
    )
    # padding comes last, so no real query sees it when causal
    keys = None if causal else visible_keys(mask)[:, None, None, :]
    v = F.pad(v, (0, size - value_size))
    y = F.scaled_dot_product_attention(q, k, v, attn_mask=keys, is_causal=causal, scale=1.0)
    return y[..., :value_size]


def row_attention(scores: RowScores, v: Values, mask: Mask, causal: bool = False) -> Values:
    """Attend for a block of queries at a time; only its input is kept for the backward pass."""
    hidden = ~visible_keys(mask)[:, None, None, :]

    def attend_block(first: int, *rows: Tensor) -> Tensor:
        logits: Tensor = scores.logits(*rows)
        unseen = hidden
        if causal:
            later = torch.ones(logits.shape[2:], dtype=torch.bool, device=v.device).triu(first + 1)
            unseen = hidden | later
        return logits.masked_fill(unseen, -math.inf).softmax(dim=-1) @ v

    blocks = zip(*(torch.split(t, BLOCK, dim=2) for t in scores.rows), strict=True)
    return torch.cat(
        [
            checkpoint(
                attend_block, i * BLOCK, *rows, use_reentrant=False, preserve_rng_state=False
            )
            for i, rows in enumerate(blocks)
        ],
        dim=2,
    )

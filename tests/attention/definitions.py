"""The definition of every mixer: slow, readable, in float64, importing nothing from the package.

`DEFINITIONS[name](x, mask, weights, place, options)` returns what the mixer must return, from the
mixer's own state dict. Each is written with the whole N x N matrix, row by row where that reads
better, and knows nothing of blocks, chunks or fused kernels.
"""

import math

import torch


def heads(x, weight, num_heads):
    """Project and cut into heads: (B, N, D) -> (B, H, N, d)."""
    batch, length, width = x.shape
    return (x @ weight.T).view(batch, length, num_heads, width // num_heads).transpose(1, 2)


def merge(y, weight):
    """Join the heads and project: (B, H, N, d) -> (B, N, D)."""
    batch, _, length, _ = y.shape
    return y.transpose(1, 2).reshape(batch, length, -1) @ weight.T


def projected(x, weights, place):
    return (
        heads(x, weights[f"{name}.weight"], place.num_heads) for name in ("query", "key", "value")
    )


def masked_softmax(logits, allowed):
    """Softmax over the allowed keys; a query that may see nothing gets nothing."""
    allowed = allowed.expand(logits.shape)
    weights = torch.where(allowed, torch.exp(logits - logits.amax(-1, keepdim=True)), 0.0)
    return weights / weights.sum(-1, keepdim=True).clamp_min(1e-300)


def no_later(allowed, causal):
    length = allowed.shape[-1]
    return allowed & torch.ones(length, length, dtype=torch.bool).tril() if causal else allowed


def transformer(x, mask, weights, place, options):
    q, k, v = projected(x, weights, place)
    logits = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    allowed = no_later(mask[:, None, None, :], place.causal)
    return merge(masked_softmax(logits, allowed) @ v, weights["output.weight"])


def linear(x, mask, weights, place, options):
    q, k, v = projected(x, weights, place)
    q, k = (torch.where(t > 0, t + 1, torch.exp(t.clamp_max(0))) for t in (q, k))
    similarity = q @ k.transpose(-1, -2)
    similarity = torch.where(no_later(mask[:, None, None, :], place.causal), similarity, 0.0)
    return merge(
        similarity @ v / similarity.sum(-1, keepdim=True).clamp_min(1e-6), weights["output.weight"]
    )


DEFINITIONS = {
    "transformer": transformer,
    "linear": linear,
}

"""The pieces that several definitions are written with."""

import math

import torch


def heads(x, weight, num_heads):
    """Project and cut into heads: (B, N, D) -> (B, H, N, d)."""
    batch, length, _ = x.shape
    size = len(weight) // num_heads
    return (x @ weight.T).view(batch, length, num_heads, size).transpose(1, 2)


def merge(y, weight):
    """Join the heads and project: (B, H, N, d) -> (B, N, D)."""
    batch, _, length, _ = y.shape
    return y.transpose(1, 2).reshape(batch, length, -1) @ weight.T


def projected(x, weights, place):
    q, k, v = (
        heads(x, weights[f"{name}.weight"], place.num_heads) for name in ("query", "key", "value")
    )
    return rotated(q, place), rotated(k, place), v


def rotated(t, place, step=1):
    """Turn every pair of channels by a 2 x 2 matrix of its own, where positions are rotary."""
    if not place.rotary:
        return t
    size = t.shape[-1]
    tokens = []
    for m in range(t.shape[2]):
        turns = [rotation(m * step * 10_000 ** (-2 * i / size)) for i in range(size // 2)]
        pairs = [t[:, :, m, 2 * i : 2 * i + 2] @ turn.T for i, turn in enumerate(turns)]
        tokens.append(torch.cat(pairs, dim=-1))
    return torch.stack(tokens, dim=2)


def rotation(angle):
    cos, sin = math.cos(angle), math.sin(angle)
    return torch.tensor([[cos, -sin], [sin, cos]], dtype=torch.float64)


def masked_softmax(logits, allowed):
    """Softmax over the allowed keys; a query that may see nothing gets nothing."""
    allowed = allowed.expand(logits.shape)
    weights = torch.where(allowed, torch.exp(logits - logits.amax(-1, keepdim=True)), 0.0)
    return weights / weights.sum(-1, keepdim=True).clamp_min(1e-300)


def no_later(allowed, causal):
    length = allowed.shape[-1]
    return allowed & torch.ones(length, length, dtype=torch.bool).tril() if causal else allowed

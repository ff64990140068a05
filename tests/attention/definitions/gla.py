"""Gated linear attention, one position after the other, in both directions.

Recurrence and scale: paper arXiv 2312.06635, eq. 3; repository fla-org/flash-linear-attention,
fla/ops/gla/naive.py, naive_recurrent_gla. Gate through two maps, log-sigmoid divided by tau, norm
per head and swish gate: fla/layers/gla.py, GatedLinearAttention.forward.
Two directions: repository hustvl/ViG, classification/models/vig.py, GatedLinearAttention.forward.
The one from the end has gates of its own, the second half of the outer map; either contains the
present token; their mean is normed.

LION-S: paper arXiv 2502.16249; repository arshiaafzal/LION, img_classification/lion/models_lion.py,
silu_shifted and Lion_Attention.forward, format RNN. A token's decay is applied after it was read:
between key j and query i lie the decays of the tokens from j to the last before i. A column of ones
beside the values makes the normaliser. The code takes 1 - sigmoid as the decay, the paper sigmoid.
"""

import math

import torch
from attention.definitions.pieces import heads, merge
from torch.nn.functional import logsigmoid, silu

SMALL = {}
VARIANTS = [
    {"tau": 1.0, "rank": 3},
    {"tau": 0.05, "rank": 1, "key_expansion": 0.25},
    {"tau": 1000.0, "key_expansion": 1.0},
    {"lion": True},
]


def definition(x, mask, weights, place, options):
    weights = {key.removeprefix("form."): weight for key, weight in weights.items()}
    x = torch.where(mask[..., None], x, 0.0)
    q, k, v = (
        heads(x, weights[f"{name}.weight"], place.num_heads) for name in ("query", "key", "value")
    )
    if options.lion:
        k = torch.where(mask[:, None, :, None], features(k), 0.0)
        y = lion(features(q), k, v, decay_of_heads(x, weights), place.causal)
        return merge(y, weights["output.weight"])
    q = q / math.sqrt(q.shape[-1])
    front, *end = decays(x, weights, q.shape[1], options.tau)
    y = read(q, k, v, front)
    if not place.causal:
        y = (y + backwards(read, q, k, v, *end)) / 2
    gate = heads(x, weights["gate.weight"], place.num_heads)
    normed = y / torch.sqrt(y.square().mean(-1, keepdim=True) + 1e-5) * weights["norm.weight"]
    return merge(normed * silu(gate), weights["output.weight"])


def decays(x, weights, num_heads, tau):
    """The decays of every key channel, a tensor for each direction."""
    logits = x @ weights["decay.inner.weight"].T @ weights["decay.outer.weight"].T
    logits = logits + weights["decay.outer.bias"]
    size = len(weights["query.weight"])
    for direction in logits.split(size, dim=-1):
        cut = direction.unflatten(-1, (num_heads, size // num_heads)).transpose(1, 2)
        yield torch.exp(logsigmoid(cut) / tau)


def decay_of_heads(x, weights):
    logits = x @ weights["decay.weight"].T + weights["decay.bias"]
    return torch.sigmoid(logits).transpose(1, 2)[..., None]


def lion(q, k, v, decay, causal):
    v = torch.cat([v, torch.ones_like(v[..., :1])], dim=-1)
    y = read_before_decay(q, k, v, decay)
    if not causal:
        present = (q * k).sum(-1, keepdim=True) * v
        y = y + backwards(read_before_decay, q, k, v, decay) - present
    return y[..., :-1] / y[..., -1:]


def features(t):
    t = silu(t) + 0.5
    return t / torch.sqrt(t.square().sum(-1, keepdim=True))


def backwards(function, *tensors):
    """Apply a function to rows that are read from their end."""
    return function(*(t.flip(2) for t in tensors)).flip(2)


def read(q, k, v, decay):
    """What each query finds in the state that contains its own token: (B, H, N, size of v)."""
    state, outputs = torch.zeros(*k.shape[:2], k.shape[-1], v.shape[-1], dtype=k.dtype), []
    for i in range(k.shape[2]):
        state = decay[:, :, i, :, None] * state + k[:, :, i, :, None] * v[:, :, i, None, :]
        outputs.append((q[:, :, i, :, None] * state).sum(2))
    return torch.stack(outputs, dim=2)


def read_before_decay(q, k, v, decay):
    """The same where every token makes the state decay after it was added, not before."""
    return read(q, k, v, torch.cat([torch.ones_like(decay[:, :, :1]), decay[:, :, :-1]], dim=2))

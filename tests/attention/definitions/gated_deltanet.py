"""The gated delta rule, one position after the other, in both directions.

Paper arXiv 2412.06464, section 3.1, and the design of its block (figure 1). Repository
fla-org/flash-linear-attention: recurrence and scale in fla/ops/gated_delta_rule/naive.py,
naive_recurrent_gated_delta_rule; order of everything else in fla/layers/gated_deltanet.py,
GatedDeltaNet.forward: projection, short convolution, SiLU, L2 norm of queries and keys
(fla/modules/l2norm.py, eps 1e-6 inside the root), recurrence, norm and then gate
(fla/modules/fused_norm_gate.py). Sigmoid of beta not doubled, `allow_neg_eigval=False`.

There padding is taken out before the layer. Here it is zeros, which come after everything that
reads forwards, and leave a state of zeros to what reads backwards.

The second direction is not theirs: it is the same layer with weights of its own, reading from the
end, and the two answers are added.
"""

import math

import torch
from torch.nn.functional import pad, silu, softplus

SMALL = {"chunk": 16}
VARIANTS = [
    {},
    {"conv": 1, "expand_k": 1.0, "expand_v": 1.0, "chunk": 1},
    {"conv": 3, "expand_k": 2.0, "expand_v": 0.5, "chunk": 7},
    {"conv": 9, "expand_k": 0.01, "expand_v": 3.0, "chunk": 256},
]


def definition(x, mask, weights, place, options):
    x = torch.where(mask[..., None], x, 0.0)
    y = layer(x, direction(weights, "forwards."), place.num_heads)
    if place.causal:
        return y
    return y + layer(x.flip(1), direction(weights, "backwards."), place.num_heads).flip(1)


def direction(weights, prefix):
    return {key.removeprefix(prefix): w for key, w in weights.items() if key.startswith(prefix)}


def layer(x, weights, num_heads):
    q, k, v = (
        silu(convolution(x @ weights[f"{name}.weight"].T, weights[f"{name}_convolution.weight"]))
        .unflatten(-1, (num_heads, -1))
        .transpose(1, 2)
        for name in ("query", "key", "value")
    )
    beta = torch.sigmoid(x @ weights["beta.weight"].T).transpose(1, 2)
    y = read(unit(q) / math.sqrt(q.shape[-1]), unit(k), v, beta, decays(x, weights))
    gate = (x @ weights["gate.weight"].T).unflatten(-1, (num_heads, -1))
    return (normed(y.transpose(1, 2), weights) * silu(gate)).flatten(2) @ weights["output.weight"].T


def convolution(x, kernel):
    """Weigh every token and those before it, channel by channel; before the first are zeros."""
    length, size = x.shape[1], kernel.shape[-1]
    padded = pad(x, (0, 0, size - 1, 0))
    return sum(kernel[:, 0, tap] * padded[:, tap : tap + length] for tap in range(size))


def unit(t):
    return t / torch.sqrt(t.square().sum(-1, keepdim=True) + 1e-6)


def decays(x, weights):
    """What is kept of the state at every token: (B, H, N)."""
    step = softplus(x @ weights["decay.weight"].T + weights["dt_bias"])
    return torch.exp(-torch.exp(weights["log_decay"]) * step).transpose(1, 2)


def read(q, k, v, beta, decay):
    """What each query finds in the state after its own token was written: (B, H, N, size of v).

    Writing exchanges a share beta of what stands at the key for the value. The state is transposed
    against the paper's: keys are its rows.
    """
    state, outputs = torch.zeros(*k.shape[:2], k.shape[-1], v.shape[-1], dtype=k.dtype), []
    for i in range(k.shape[2]):
        state = decay[:, :, i, None, None] * state
        found = (k[:, :, i, :, None] * state).sum(2)
        change = beta[:, :, i, None] * (v[:, :, i] - found)
        state = state + k[:, :, i, :, None] * change[:, :, None, :]
        outputs.append((q[:, :, i, :, None] * state).sum(2))
    return torch.stack(outputs, dim=2)


def normed(y, weights):
    return y / torch.sqrt(y.square().mean(-1, keepdim=True) + 1e-5) * weights["norm.weight"]

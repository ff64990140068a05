"""The linear recurrent unit, one position after the other, in both directions.

Recurrence and output, y = Re(C x) + skip u (no conjugate pairs, so no factor 2): pseudo-code of
the paper, appendix A; repository NicolasZucchet/minimal-LRU, lru/model.py, LRU.__call__.
GELU and GLU: SequenceLayer.__call__ there, whose out1 is the first half of the gate and out2, under
the sigmoid, the second. Its nn.gelu is the approximation by tanh; here it is the function itself.

Two directions: neither source has them. As in S5 (lindermanlab/S5, s5/ssm.py, apply_ssm) the
recurrence from the end is the same one with a C of its own, and either contains the present token.
"""

import torch
from torch.nn.functional import gelu, glu

SMALL = {}
VARIANTS = [
    {"state": 1},
    {"state": 25, "max_phase": 0.314},
    {"r_min": 0.0, "r_max": 0.99},
    {"state": 8, "r_min": 0.99, "r_max": 0.9999},
]


def definition(x, mask, weights, place, options):
    u = torch.where(mask[..., None], x, 0.0)
    c = torch.complex(weights["c"][..., 0], weights["c"][..., 1])
    y = weights["skip"] * u + (states(u, weights) @ c[0].T).real
    if not place.causal:
        y = y + (states(u.flip(1), weights).flip(1) @ c[1].T).real
    return glu(gelu(y) @ weights["gate.weight"].T + weights["gate.bias"])


def states(u, weights):
    """The state after each position, which contains that position: (B, N, P)."""
    decay = torch.exp(torch.complex(-torch.exp(weights["nu"]), torch.exp(weights["theta"])))
    b = torch.complex(weights["b"][..., 0], weights["b"][..., 1])
    b = torch.exp(weights["log_gamma"])[:, None] * b
    state, states = torch.zeros(len(u), len(decay), dtype=decay.dtype), []
    for token in u.unbind(1):
        state = decay * state + token.to(b.dtype) @ b.T
        states.append(state)
    return torch.stack(states, dim=1)

"""The recurrence of every channel, one position after the other, from the front and from the end.

Repository state-spaces/s4. Discretisation (zero-order hold), x_k = dA x_{k-1} + dB u_k and
y_k = 2 Re C x_k: models/s4/s4.py, SSMKernelDiag._setup_step and step, with B = 1.

Two directions: FFTConv.forward there adds k0 padded behind to k1 flipped and padded in front, so
k0[l] weighs the token l places back and k1[l] the token l + 1 places ahead. The present token is in
the first alone; the second reads the state that has come from the end as far as the next token.

Skip, GELU, GLU: models/s4/s4d.py, S4D.forward.
"""

import torch
from torch.nn.functional import gelu, glu

SMALL = {"state": 8}
VARIANTS = [
    {},
    {"state": 2},
    {"state": 8, "init": "inv"},
    {"state": 8, "init": "legs"},
    {"state": 4, "dt_min": 1e-4, "dt_max": 1.0},
]


def definition(x, mask, weights, place, options):
    u = torch.where(mask[..., None], x, 0.0)
    c = torch.complex(weights["c"][..., 0], weights["c"][..., 1])
    seen = states(u, weights)
    outputs = [2 * (c[0] * state).sum(-1).real for state in seen]
    if not place.causal:
        ahead = states(u.flip(1), weights)[::-1]
        for i in range(len(ahead) - 1):
            outputs[i] = outputs[i] + 2 * (c[1] * ahead[i + 1]).sum(-1).real
    y = torch.stack(outputs, dim=1) + weights["skip"] * u
    return glu(gelu(y) @ weights["gate.weight"].T + weights["gate.bias"])


def states(u, weights):
    """The state after each position, which contains that position: N times (B, D, P/2)."""
    a = torch.complex(-torch.exp(weights["log_decay"]), weights["frequency"])
    decay = torch.exp(torch.exp(weights["log_dt"])[:, None] * a)
    state, states = torch.zeros(len(u), *a.shape, dtype=a.dtype), []
    for token in u.unbind(1):
        state = decay * state + (decay - 1) / a * token[..., None]
        states.append(state)
    return states

"""One recurrence for all channels together, one position after the other, in both directions.

Repository lindermanlab/S5. Zero-order hold: s5/ssm.py, discretize_zoh; eigenvalues kept in the left
half plane: S5SSM.setup, `clip_eigs`; states, conjugate pairs (2 Re) and skip: apply_ssm and
S5SSM.__call__. The scan from the end has the same eigenvalues and the same B, and a C of its own;
the state of either direction contains the present token.

Output: s5/layers.py, SequenceLayer.__call__, `half_glu1`. There nn.gelu is the approximation by
tanh, which is the default of flax; here it is the function itself.
"""

import torch
from torch.nn.functional import gelu

SMALL = {}
VARIANTS = [
    {"state": 2},
    {"state": 24, "blocks": 3},
    {"state": 8, "blocks": 4},
    {"dt_min": 1e-4, "dt_max": 1.0},
]


def definition(x, mask, weights, place, options):
    u = torch.where(mask[..., None], x, 0.0)
    c = torch.complex(weights["c"][..., 0], weights["c"][..., 1])
    y = weights["skip"] * u + 2 * (states(u, weights) @ c[0].T).real
    if not place.causal:
        y = y + 2 * (states(u.flip(1), weights).flip(1) @ c[1].T).real
    y = gelu(y)
    return y * torch.sigmoid(y @ weights["gate.weight"].T + weights["gate.bias"])


def states(u, weights):
    """The state after each position, which contains that position: (B, N, P/2)."""
    eigenvalues = torch.complex(weights["lambda_real"].clamp_max(-1e-4), weights["lambda_imag"])
    decay = torch.exp(eigenvalues * torch.exp(weights["log_dt"]))
    b = torch.complex(weights["b"][..., 0], weights["b"][..., 1])
    b = ((decay - 1) / eigenvalues)[:, None] * b
    state, states = torch.zeros(len(u), len(decay), dtype=decay.dtype), []
    for token in u.unbind(1):
        state = decay * state + token.to(b.dtype) @ b.T
        states.append(state)
    return torch.stack(states, dim=1)

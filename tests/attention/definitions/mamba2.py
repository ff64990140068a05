"""Mamba-2 when causal, Hydra in both directions, one position after the other.

Mamba-2: repository state-spaces/mamba, mamba_ssm/modules/mamba2_simple.py, Mamba2Simple.forward
without the fused path, in this order: projection, convolution, SiLU, scan, skip, gate and norm. The
scan is the recurrence h_i = exp(dt_i A) h_(i-1) + dt_i B_i x_i, y_i = C_i h_i, which ssd_minimal.py
(mamba_ssm/modules) computes in chunks. Norm of the gated answer: mamba_ssm/ops/triton,
layernorm_gated.py, rms_norm_ref, `norm_before_gate=False`.

Hydra: repository goombalab/hydra, hydra/modules/hydra.py, Hydra.forward without the fused path. Its
convolution is centred. Two scans share x, A and the bias of dt; each has a B, C and dt of its own.
The answer of either is moved by one token in its direction, so that a token finds there what its
neighbour has read; the token itself comes by the skip, whose weight is a map of all channels. The
norm comes before the gate.
"""

import torch
from torch.nn.functional import pad, silu, softplus

SMALL = {"state": 8, "head_size": 8, "chunk": 16}
VARIANTS = [
    {},
    {"state": 1, "conv": 1, "head_size": 32, "chunk": 1},
    {"state": 5, "conv": 4, "expand": 1, "head_size": 2, "chunk": 8},
    {"state": 3, "conv": 9, "expand": 3, "head_size": 1, "chunk": 256},
]


def definition(x, mask, weights, place, options):
    gate, x, matrices, steps = parts(x, mask, weights, place, options)
    if place.causal:
        y = scan(x, *matrices, *steps, weights) + weights["skip"][:, None] * x
        y = normed(y.flatten(2) * silu(gate), weights)
    else:
        y = normed(hydra(x, matrices, steps, weights).flatten(2), weights) * silu(gate)
    return y @ weights["output.weight"].T


def parts(x, mask, weights, place, options):
    """The gate, x in heads, and for each direction B, C and dt, which is 0 at padding."""
    width, num_heads = len(weights["norm.weight"]), len(weights["skip"])
    num_scans = 1 if place.causal else 2
    sizes = [width] + [options.state] * (2 * num_scans)
    tokens = torch.where(mask[..., None], x, 0.0) @ weights["input.weight"].T
    gate, neighbours, steps = tokens.split([width, sum(sizes), num_heads * num_scans], dim=-1)
    x, *matrices = silu(convolution(neighbours, weights, place.causal)).split(sizes, dim=-1)
    steps = softplus(steps + weights["dt_bias"].repeat(num_scans))
    steps = torch.where(mask[..., None], steps, 0.0).split(num_heads, dim=-1)
    return gate, x.unflatten(-1, (num_heads, -1)), matrices, steps


def hydra(x, matrices, steps, weights):
    b, c, b_end, c_end = matrices
    front = moved(scan(x, b, c, steps[0], weights))
    end = moved(scan(*(t.flip(1) for t in (x, b_end, c_end, steps[1])), weights)).flip(1)
    skip = x.flatten(2) @ weights["skip_map.weight"].T + weights["skip"]
    return front + end + skip[..., None] * x


def convolution(x, weights, causal):
    """Weigh every token's neighbours, channel by channel; beyond the ends there are zeros."""
    kernel, length = weights["convolution.weight"][:, 0], x.shape[1]
    size = kernel.shape[1]
    before = size - 1 if causal else size // 2
    padded = pad(x, (0, 0, before, size - 1 - before))
    weighted = [kernel[:, place] * padded[:, place : place + length] for place in range(size)]
    return sum(weighted) + weights["convolution.bias"]


def scan(x, b, c, dt, weights):
    """What each token reads from the state that contains it: (B, N, H, P)."""
    decay = torch.exp(-dt * torch.exp(weights["log_decay"]))
    state, outputs = torch.zeros(*x[:, 0].shape, b.shape[-1], dtype=x.dtype), []
    for i in range(x.shape[1]):
        added = (dt[:, i, :, None] * x[:, i])[..., None] * b[:, i, None, None]
        state = decay[:, i, :, None, None] * state + added
        outputs.append((state * c[:, i, None, None]).sum(-1))
    return torch.stack(outputs, dim=1)


def moved(y):
    return torch.cat([torch.zeros_like(y[:, :1]), y[:, :-1]], dim=1)


def normed(y, weights):
    return y / torch.sqrt(y.square().mean(-1, keepdim=True) + 1e-5) * weights["norm.weight"]

"""The moving average one position after the other, and the attention as a whole matrix.

Repository facebookresearch/mega, fairseq/modules:

exponential_moving_average.py, MultiHeadEMA: u_t = alpha beta x_t + (1 - alpha delta) u_{t-1}, as
in one_step and in the paper's equation of the damped average, and gamma with the scale 1/sqrt(n).
From the end, the average has parameters of its own, the second half of the rows; as the first
entry of its kernel is cut off in forward (`shift`), it contains later tokens only. The present
token is in the average from the front and in the residual omega x.

moving_average_gated_attention.py, MovingAverageGatedAttention.forward: values from the input,
update gate, shared representation, reset gate and candidate from the average, in this order.
softmax_attention: scores q . k / sqrt(z) + bias. element_attention: q . k / keys + bias, where keys
counts the keys that the query may see, then fairseq/utils.py, laplace, without normalisation.

relative_positional_bias.py, SimpleRelativePositionalBias (the default for the arena, models/lra):
entry (i, j) is the table's middle + j - i.

The layer there returns residual + update (candidate - residual). Its residual is added by the
encoder here, and the gate sees the normed input in its place.
"""

import math

import torch
from attention.definitions.pieces import masked_softmax, no_later
from torch.nn.functional import silu

SMALL = {"ema": 4, "z": 8, "chunk": 16}
VARIANTS = [
    {"z": 8},
    {"ema": 1, "z": 2, "hidden": 5},
    {"ema": 4, "z": 8, "attention": "laplace"},
    {"ema": 4, "z": 8, "hidden": 24, "attention": "laplace", "chunk": 7},
    {"ema": 2, "z": 8, "attention": "laplace", "chunk": 1},
    {"ema": 2, "z": 8, "chunk": 300},
]


def definition(x, mask, weights, place, options):
    x = torch.where(mask[..., None], x, 0.0)
    hidden = options.hidden or 2 * place.width
    average = silu(moving_average(x, weights, place) + weights["ema.omega"] * x)
    update, shared, reset, candidate = linear(average, weights, "mixed").split(
        [place.width, options.z, hidden, place.width], dim=-1
    )
    q, k = (silu(shared) * weights["gamma"][i] + weights["beta"][i] for i in (0, 1))
    value = silu(linear(x, weights, "value"))
    similarity = q @ k.transpose(-1, -2)
    attended = attention(similarity, mask, weights["bias"], place, options) @ value
    candidate = silu(candidate + linear(attended * silu(reset), weights, "output"))
    return torch.sigmoid(update) * (candidate - x)


def linear(x, weights, name):
    return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]


def moving_average(x, weights, place):
    """Average every channel in n dimensions, from the front and, unless causal, from the end."""
    alpha, delta = (torch.sigmoid(weights[f"ema.{name}"][..., 0]) for name in ("alpha", "delta"))
    keep, take = 1 - alpha * delta, alpha * weights["ema.beta"][..., 0]
    gamma = weights["ema.gamma"] / math.sqrt(keep.shape[-1])

    front = slice(0, place.width)
    seen = averages(x, keep[front], take[front])
    outputs = [(gamma[front] * state).sum(-1) for state in seen]
    if not place.causal:
        end = slice(place.width, None)
        ahead = averages(x.flip(1), keep[end], take[end])[::-1]
        for i in range(len(ahead) - 1):
            outputs[i] = outputs[i] + (gamma[end] * keep[end] * ahead[i + 1]).sum(-1)
    return torch.stack(outputs, dim=1)


def averages(x, keep, take):
    """The average after each position, which contains that position: N times (B, D, n)."""
    state, states = torch.zeros(len(x), *keep.shape, dtype=x.dtype), []
    for token in x.unbind(1):
        state = keep * state + take * token[..., None]
        states.append(state)
    return states


def attention(similarity, mask, bias, place, options):
    """The weight of every key for every query: (B, N, N)."""
    position = torch.arange(mask.shape[1])
    chunk = position // (options.chunk or len(position))
    allowed = no_later(mask[:, None, :] & (chunk[:, None] == chunk), place.causal)
    # across chunks the table may have no entry, and none is needed
    entry = (len(bias) // 2 + position - position[:, None]).clamp(0, len(bias) - 1)
    if options.attention == "softmax":
        return masked_softmax(similarity / math.sqrt(options.z) + bias[entry], allowed)
    keys = allowed.sum(-1, keepdim=True).clamp_min(1)
    return torch.where(allowed, laplace(similarity / keys + bias[entry]), 0.0)


def laplace(x, mean=0.707107, deviation=0.282095):
    return (1 + torch.erf((x - mean) / (deviation * math.sqrt(2)))) / 2

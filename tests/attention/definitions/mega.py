"""The moving average one position after the other, and the attention as a whole matrix.

Repository facebookresearch/mega, fairseq/modules:

exponential_moving_average.py, MultiHeadEMA, of the release that the arena's checkpoints belong to
(09f1a87; transformers has the same): h_t = p beta x_t + q h_{t-1} as in one_step, with p =
sigmoid(delta) and q = 1 - p sigmoid(alpha), and gamma with the scale 1/sqrt(n). The paper calls
alpha what is delta there. From the end, the average has parameters of its own, the second half of
the rows; both contain the present token, for the two kernels meet in the middle of one. A later
commit (06f2d0e) exchanges the two names and takes the present token out of the second.

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
    {"ema": 1, "z": 2, "hidden": 5, "chunk": 300},
    {"ema": 4, "z": 8, "attention": "laplace"},
    {"ema": 4, "z": 8, "hidden": 24, "attention": "laplace", "chunk": 7},
    {"ema": 2, "z": 8, "attention": "laplace", "chunk": 1},
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
    front, end = slice(0, place.width), slice(place.width, None)
    y = average_from_front(x, weights, front)
    return y if place.causal else y + average_from_front(x.flip(1), weights, end).flip(1)


def average_from_front(x, weights, rows):
    """The average after each position, which contains that position, seen through gamma."""
    delta, alpha, beta = (weights[f"ema.{name}"][rows, :, 0] for name in ("delta", "alpha", "beta"))
    delta, alpha, gamma = delta.sigmoid(), alpha.sigmoid(), weights["ema.gamma"][rows]
    state, outputs = torch.zeros(len(x), *delta.shape, dtype=x.dtype), []
    for token in x.unbind(1):
        state = delta * beta * token[..., None] + (1 - delta * alpha) * state
        outputs.append((gamma * state).sum(-1) / math.sqrt(gamma.shape[1]))
    return torch.stack(outputs, dim=1)


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

"""The whole matrix of one row after the other: three softmaxes, and a band for the convolution.

Repository mlpen/Nystromformer, LRA/code/attention_nystrom.py. Landmarks and the product of the
three kernels: NystromAttention.forward; as many landmarks as tokens are softmax itself, by its
first branch. Pseudo-inverse: iterative_inv, six steps from the second of its two starts, which
divides every head by its own largest column sum and not by that of the whole batch.
Convolution: `conv`, one kernel per head, on the values before they are mixed.

There a row is as long as its padding makes it, and a landmark may be a mean of zeros. Here a row
has its real tokens alone, cut into segments whose sizes differ by at most one.
"""

import math

import torch
from attention.definitions.pieces import merge, projected

SMALL = {"landmarks": 8, "conv": 5}
VARIANTS = [
    {"landmarks": 8, "conv": 0},
    {"landmarks": 1, "conv": 1},
    {"landmarks": 7, "conv": 3},
    {"landmarks": 16},
    {"landmarks": 40, "conv": 61},
    {"landmarks": 128, "conv": 5},
]


def definition(x, mask, weights, place, options):
    rows = []
    for q, k, v, length in zip(*projected(x, weights, place), mask.sum(1).tolist(), strict=True):
        mixing = attention(q[:, :length], k[:, :length], options.landmarks)
        if options.conv:
            mixing = mixing + band(weights["convolution.kernel"], length)
        padding = torch.zeros_like(v[:, length:])
        rows.append(torch.cat([mixing @ v[:, :length], padding], dim=1))
    return merge(torch.stack(rows), weights["output.weight"])


def attention(q, k, landmarks):
    """The weight of every key for every query of one row: (H, N, N)."""
    length = q.shape[1]
    if length <= landmarks:
        return kernel(q, k)
    segment = torch.arange(length) * landmarks // length
    belongs = (segment == torch.arange(landmarks)[:, None]).to(q.dtype)
    means = belongs / belongs.sum(1, keepdim=True)
    q_mean, k_mean = means @ q, means @ k
    return kernel(q, k_mean) @ pseudo_inverse(kernel(q_mean, k_mean)) @ kernel(q_mean, k)


def kernel(q, k):
    logits = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    weights = torch.exp(logits - logits.amax(-1, keepdim=True))
    return weights / weights.sum(-1, keepdim=True)


def pseudo_inverse(a):
    identity = torch.eye(a.shape[-1], dtype=a.dtype)
    z = a.transpose(-1, -2) / a.sum(-2).amax(-1)[:, None, None]
    for _ in range(6):
        az = a @ z
        z = z @ (13 * identity - az @ (15 * identity - az @ (7 * identity - az))) / 4
    return z


def band(kernels, length):
    """The convolution as a matrix, whose diagonals are the entries of the kernel: (H, N, N)."""
    size, position = kernels.shape[1], torch.arange(length)
    entry = position - position[:, None] + size // 2
    inside = (entry >= 0) & (entry < size)
    return torch.where(inside, kernels[:, entry.clamp(0, size - 1)], 0.0)

"""The gated tokens, and for every position the sum over the tokens that its kernel meets.

The middle place of a kernel is the token's own; of a causal kernel it is the last one.
"""

import torch

SMALL = {"kernel": 5}
VARIANTS = [{"kernel": 1}, {"kernel": 31}, {"kernel": 61}]


def definition(x, mask, weights, place, options):
    width, size = weights["kernel"].shape
    value, gate = x @ weights["input.weight"][:width].T, x @ weights["input.weight"][width:].T
    gated = torch.where(mask[..., None], value / (1 + torch.exp(-gate)), 0.0)
    own = size - 1 if place.causal else (size - 1) // 2
    sums = [
        sum(
            weights["kernel"][:, j - i + own] * gated[:, j]
            for j in range(max(0, i - own), min(x.shape[1], i - own + size))
        )
        for i in range(x.shape[1])
    ]
    return torch.stack(sums, dim=1) @ weights["output.weight"].T

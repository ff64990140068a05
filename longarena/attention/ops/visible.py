"""What a softmax may see: the allowed keys, or every key of a query that is allowed none.

A softmax over nothing is not a number, and one such row would spoil the gradients of all others. So
a query without an allowed key attends to something. In most mechanisms only padded queries are in
that position, and what stands there means nothing.
"""

import torch
from jaxtyping import Bool
from torch import Tensor

from longarena.shapes import Mask, Tokens

Allowed = Bool[Tensor, "#problems #heads #queries keys"]


def visible(allowed: Allowed) -> Allowed:
    """Let a query that may see nothing see everything, which keeps its softmax a number."""
    seen = allowed | ~allowed.any(dim=-1, keepdim=True)
    return seen.contiguous()  # in another order the kernel would copy it for every query


def all_real(x: Tokens) -> Mask:
    """Make the mask of rows without padding."""
    return torch.ones(x.shape[:2], dtype=torch.bool, device=x.device)


def visible_keys(mask: Mask) -> Mask:
    """Tell which keys of every row a softmax may see: the real ones, or all if there are none."""
    return mask | ~mask.any(dim=1, keepdim=True)

"""The effective attention matrix of any mechanism: its answer to the N unit vectors.

`apply(plan, v)` is linear in v, so column j of the matrix is the result for the j-th unit vector.
The unit vectors are fed in groups of the head's size, the size that the fast kernels are made for.
"""

import torch

from longarena.attention.base import Attention, Mixer
from longarena.shapes import Mask, Matrix, Tokens


def matrix(mixer: Mixer, x: Tokens, mask: Mask) -> Matrix:
    """Return (B, H, N, N): how much of value j reaches position i."""
    if not isinstance(mixer, Attention):
        raise ValueError(f"{type(mixer).__name__} has no attention matrix: it is not an Attention")
    batch, length, _ = x.shape
    unit = torch.eye(length, dtype=x.dtype, device=x.device)
    plan = mixer.plan(x, mask)
    columns = [
        mixer.apply(plan, values.expand(batch, mixer.place.num_heads, -1, -1).contiguous())
        for values in torch.split(unit, mixer.place.head_size, dim=1)
    ]
    return torch.cat(columns, dim=-1)

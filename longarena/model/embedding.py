"""Token ids to vectors: what a token is, plus where it stands.

Choice: tokens start from N(0, 1) and learned positions from N(0, 0.02^2), as in the release.
"""

import math
from typing import Literal

import torch
from torch import Tensor, nn

from longarena.shapes import Ids, Tokens


def sinusoids(length: int, width: int) -> Tensor:
    """Return the fixed positions of Vaswani et al. (2017): sine and cosine in turn.

    >>> sinusoids(3, 4)[0]
    tensor([0., 1., 0., 1.])
    """
    position = torch.arange(length)[:, None]
    rate = torch.exp(torch.arange(0, width, 2) * (-math.log(10_000.0) / width))
    table = torch.zeros(length, width)
    table[:, 0::2] = torch.sin(position * rate)
    table[:, 1::2] = torch.cos(position * rate)[:, : width // 2]
    return table


class Embedding(nn.Module):
    """Sum of a token's vector and its position's, if it has one."""

    def __init__(
        self,
        vocab_size: int,
        width: int,
        max_length: int,
        positions: Literal["learned", "sinusoidal"] | None,
    ) -> None:
        super().__init__()
        self.token = nn.Embedding(vocab_size, width)
        self.position: Tensor | None
        if positions == "learned":
            self.position = nn.Parameter(nn.init.normal_(torch.empty(max_length, width), std=0.02))
        else:
            table = sinusoids(max_length, width) if positions == "sinusoidal" else None
            self.register_buffer("position", table, persistent=False)

    def forward(self, ids: Ids) -> Tokens:
        embedded: Tensor = self.token(ids)
        return embedded if self.position is None else embedded + self.position[: ids.shape[1]]

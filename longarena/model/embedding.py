"""Ids to vectors: what a token is, plus where it stands.

    embed    a learned vector for every id
    value    a linear map of one number: ids 1 ... vocab_size - 1 become -1 ... 1 in equal steps
    tied     a learned vector w for every id: sqrt(width) w goes in, and x . w is its logit

Choice: token vectors start from N(0, 1) and learned positions from N(0, 0.02^2), as in the release.
        Tied ones start from N(0, 1 / width), as in fairseq: times sqrt(width) that is the same.
Choice: the linear map of `value` has a bias and torch's own start, uniform on [-1, 1] for a single
        input. The tokens that a model puts before a sequence are not quantities; they have vectors
        of their own, which start from N(0, 1) too.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from longarena.data.masking import HIDDEN
from longarena.model.config import Positions
from longarena.shapes import Ids, TokenLogits, Tokens


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


def values_of(ids: Tensor, vocab_size: int) -> Tensor:
    """Map the ids of a vocabulary to numbers from -1 to 1; padding falls outside.

    >>> values_of(torch.tensor([1, 2, 3]), vocab_size=4)
    tensor([-1.,  0.,  1.])
    """
    return 2 * (ids - 1) / (vocab_size - 2) - 1


class TiedEmbedding(nn.Embedding):
    """Vectors that are read at the input and, by `logits`, compared with at the output."""

    def __init__(self, number: int, width: int) -> None:
        super().__init__(number, width)
        nn.init.normal_(self.weight, std=width**-0.5)

    def forward(self, ids: Ids) -> Tokens:
        return super().forward(ids) * math.sqrt(self.embedding_dim)

    def logits(self, x: Tokens, num_ids: int) -> TokenLogits:
        """Compare each token with the ids 1 ... `num_ids`; padding never follows."""
        return F.linear(x, self.weight[1 : num_ids + 1])


class ValueEmbedding(nn.Module):
    """A linear map of the number that an id stands for.

    The first `num_prepended` tokens of a row are the model's own and have a vector each;
    `vocab_size` does not count them.
    """

    def __init__(self, vocab_size: int, num_prepended: int, width: int) -> None:
        super().__init__()
        self.vocab_size, self.num_prepended = vocab_size, num_prepended
        self.linear = nn.Linear(1, width)
        self.prepended = nn.Parameter(torch.randn(num_prepended, width)) if num_prepended else None

    def forward(self, ids: Ids) -> Tokens:
        own = ids[:, self.num_prepended :].to(self.linear.weight.dtype)
        x: Tensor = self.linear(values_of(own, self.vocab_size)[..., None])
        if self.prepended is None:
            return x
        return torch.cat([self.prepended.expand(len(ids), -1, -1), x], dim=1)


class Embedding(nn.Module):
    """The sum of a token's vector and the vector of its position, where positions are added."""

    def __init__(self, token: nn.Module, width: int, max_length: int, positions: Positions) -> None:
        super().__init__()
        self.token = token
        self.position: Tensor | None
        if positions == "learned":
            self.position = nn.Parameter(nn.init.normal_(torch.empty(max_length, width), std=0.02))
        else:
            table = sinusoids(max_length, width) if positions == "sinusoidal" else None
            self.register_buffer("position", table, persistent=False)

    def forward(self, ids: Ids, first: int = 0, mask_vector: Tensor | None = None) -> Tokens:
        """Embed tokens that stand at the positions from `first` on.

        Where a token is hidden (`data/masking.py`), `mask_vector` stands in its place.
        """
        embedded: Tensor = (
            self.token(ids) if mask_vector is None else self._masked(ids, mask_vector)
        )
        if self.position is None:
            return embedded
        return embedded + self.position[first : first + ids.shape[1]]

    def _masked(self, ids: Ids, mask_vector: Tensor) -> Tokens:
        is_hidden = ids >= HIDDEN
        shown: Tensor = self.token(ids.masked_fill(is_hidden, 0))
        return torch.where(is_hidden[..., None], mask_vector.to(shown.dtype), shown)

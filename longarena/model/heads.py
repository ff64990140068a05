"""From the tokens of a sequence to one vector, and from there to the classes.

Choice: the mean is over real tokens only (the release averages padding too).
Choice: `pma` pools by multi-head attention (Lee et al., 2019, https://arxiv.org/abs/1810.00825): a
        learned seed reads the sequence. One seed gives the one vector that a head wants; the
        paper's feed-forward on the tokens before it is the encoder's last MLP. It is as wide as the
        tokens, whatever the `qkv_width` of the mixers.
Choice: a pair of sequences is judged from [a, b, a * b, a - b], as the paper's appendix says.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from longarena.attention.set_transformer import Points
from longarena.model.config import ModelConfig
from longarena.shapes import Logits, Mask, Pooled, PooledSequences, Tokens

Pooling = Callable[[Tokens, Mask], Pooled]


def mean_of_real(x: Tokens, mask: Mask) -> Pooled:
    """Average the real tokens; a sequence without any gives zeros."""
    real = mask[..., None].to(x.dtype)
    return x.masked_fill(~mask[..., None], 0.0).sum(dim=1) / real.sum(dim=1).clamp_min(1.0)


def first_token(x: Tokens, mask: Mask) -> Pooled:
    """Take the first position, where the encoder put a token of its own."""
    return x[:, 0]


class AttentionPooling(nn.Module):
    """Let a learned seed read the real tokens."""

    def __init__(self, width: int, num_heads: int) -> None:
        super().__init__()
        self.seed = Points(1, width, width, num_heads)

    def forward(self, x: Tokens, mask: Mask) -> Pooled:
        answers: Tensor = self.seed(x, mask)
        return answers[:, 0]


POOLINGS: dict[str, Callable[[ModelConfig], Pooling]] = {
    "mean": lambda config: mean_of_real,
    "cls": lambda config: first_token,
    "pma": lambda config: AttentionPooling(config.width, config.num_heads),
}


class Head(nn.Module):
    """Two linear maps with a ReLU between them, on one sequence or on a pair."""

    def __init__(self, width: int, hidden: int, num_classes: int, num_sequences: int) -> None:
        super().__init__()
        features = width if num_sequences == 1 else 4 * width
        self.layers = nn.Sequential(
            nn.Linear(features, hidden), nn.ReLU(), nn.Linear(hidden, num_classes)
        )

    def forward(self, pooled: PooledSequences) -> Logits:
        first, last = pooled[:, 0], pooled[:, -1]
        pair = torch.cat([first, last, first * last, first - last], dim=-1)
        logits: Tensor = self.layers(first if pooled.shape[1] == 1 else pair)
        return logits

"""Heads: from the tokens of a sequence to one vector and the classes, or to the tokens that follow.

Choice: the mean is over real tokens only (the release averages padding too).
Choice: `pma` pools by multi-head attention (Lee et al., 2019, https://arxiv.org/abs/1810.00825): a
        learned seed reads the sequence. One seed is enough, since the head wants one vector; the
        encoder's last MLP takes the place of the paper's feed-forward on the tokens. Its attention
        is as wide as the tokens, whatever the `qkv_width` of the mixers.
Choice: a pair of sequences is judged from [a, b, a * b, a - b], as in the paper's appendix.
Choice: the hidden layer is as wide as the recipe's `mlp_width`, or as the tokens if that is 0.
Choice: the map to the tokens that follow is not tied to the embedding. Token vectors start from
        N(0, 1); as an output map they would give logits with a deviation of sqrt(width).
"""

from collections.abc import Callable

import torch
from einops import rearrange
from torch import Tensor, nn

from longarena.attention.set_transformer import Points
from longarena.model.config import ModelConfig
from longarena.shapes import Logits, Mask, Pooled, TokenLogits, Tokens
from longarena.tasks.signature import Signature

Pooling = Callable[[Tokens, Mask], Pooled]


def mean_of_real(x: Tokens, mask: Mask) -> Pooled:
    """Average the real tokens; a sequence that has none gives zeros."""
    real = mask[..., None].to(x.dtype)
    return x.masked_fill(~mask[..., None], 0.0).sum(dim=1) / real.sum(dim=1).clamp_min(1.0)


def first_token(x: Tokens, mask: Mask) -> Pooled:
    """Take the first position, where the backbone put the CLS token."""
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


class ClassificationHead(nn.Module):
    """Pool the tokens of each sequence, then two linear maps with a ReLU between them."""

    def __init__(self, config: ModelConfig, signature: Signature) -> None:
        super().__init__()
        if signature.num_classes is None:
            raise ValueError("a task without classes cannot be classified")
        self.num_sequences = signature.num_sequences
        self.pool = POOLINGS[config.pooling](config)
        features = config.width if self.num_sequences == 1 else 4 * config.width
        hidden = config.mlp_width or config.width
        self.layers = nn.Sequential(
            nn.Linear(features, hidden), nn.ReLU(), nn.Linear(hidden, signature.num_classes)
        )

    def forward(self, tokens: Tokens, mask: Mask) -> Logits:
        pooled = rearrange(self.pool(tokens, mask), "(b s) d -> b s d", s=self.num_sequences)
        first, last = pooled[:, 0], pooled[:, -1]
        pair = torch.cat([first, last, first * last, first - last], dim=-1)
        logits: Tensor = self.layers(first if self.num_sequences == 1 else pair)
        return logits


class NextTokenHead(nn.Module):
    """One linear map from each token to those that may follow it.

    The first of them follows the last of the `num_prepended` tokens that stand before a sequence.
    """

    def __init__(self, width: int, num_tokens: int, num_prepended: int) -> None:
        super().__init__()
        self.num_prepended = num_prepended
        self.output = nn.Linear(width, num_tokens)

    def forward(self, tokens: Tokens, mask: Mask) -> TokenLogits:
        logits: Tensor = self.output(tokens[:, self.num_prepended - 1 :])
        return logits

"""A decoder that reads its first tokens in the parallel form, and then goes token by token.

A prompt that nothing came before is what the mixer was trained on: its parallel form answers, and
the decoder has only to remember what later tokens need of it.
"""

from abc import abstractmethod

import torch
from torch import Tensor, nn

from longarena.attention.ops.decoder import Decoder, Token
from longarena.shapes import Tokens


class PromptDecoder(Decoder):
    """Knows the position of the next token, and the mixer, or part of one, that it stands for."""

    def __init__(self, whole: nn.Module) -> None:
        self.whole = whole
        self.position = 0

    @abstractmethod
    def remember(self, x: Tokens) -> None:
        """Take note of the first tokens of every row."""

    @abstractmethod
    def mix(self, x: Tokens) -> Tokens:
        """Mix the token at `position`: (B, 1, D) in and out."""

    def step(self, x: Token) -> Token:
        y = self.mix(x[:, None])
        self.position += 1
        return y[:, 0]

    def read(self, x: Tokens) -> Tokens:
        if self.position:
            return super().read(x)
        self.remember(x)
        self.position = x.shape[1]
        mask = torch.ones(x.shape[:2], dtype=torch.bool, device=x.device)
        y: Tensor = self.whole(x, mask)
        return y

"""A decoder that reads its first tokens in the parallel form, and then goes token by token.

A prompt that nothing came before is what the mixer was trained on: its parallel form answers, and
the decoder has only to remember what later tokens need of it. What is longer than the mixer was
built for is read token by token from there on.
"""

from abc import abstractmethod
from typing import Protocol, runtime_checkable

import torch

from longarena.attention.ops.decoder import Decoder, Token
from longarena.shapes import Mask, Tokens


@runtime_checkable
class Sizes(Protocol):
    """What is asked of the place of a mixer."""

    @property
    def max_length(self) -> int: ...


@runtime_checkable
class Whole(Protocol):
    """A mixer, or part of one, in the parallel form."""

    @property
    def place(self) -> Sizes: ...

    def __call__(self, x: Tokens, mask: Mask) -> Tokens: ...


class PromptDecoder(Decoder):
    """Knows the position of the next token, and the mixer, or part of one, that it stands for."""

    def __init__(self, whole: Whole) -> None:
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
        most = self.whole.place.max_length
        prompt, rest = x[:, :most], x[:, most:]
        self.remember(prompt)
        self.position = prompt.shape[1]
        mask = torch.ones(prompt.shape[:2], dtype=torch.bool, device=x.device)
        y = self.whole(prompt, mask)
        return torch.cat([y, super().read(rest)], dim=1) if rest.shape[1] else y

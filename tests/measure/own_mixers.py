"""Mixers that only a test would write: slow, greedy, broken, endless, talkative."""

import os
import sys
import time

import torch

from longarena.attention import Mixer, MixerCard
from longarena.attention.transformer import Transformer

HOG_BYTES, SLOW_PRODUCTS = 64 << 20, 3


class Plain(Mixer):
    """Passes the tokens on."""

    def forward(self, x, mask):
        return x


class Slow(Plain):
    """Multiplies large matrices for nothing."""

    def forward(self, x, mask):
        matrix = torch.ones(1024, 1024)
        for _ in range(SLOW_PRODUCTS):
            matrix @ matrix
        return super().forward(x, mask)


class Hog(Plain):
    def forward(self, x, mask):
        return super().forward(x, mask) + torch.zeros(HOG_BYTES // 4)[0]


class Greedy(Plain):
    """Asks for more memory than any machine has."""

    def forward(self, x, mask):
        return super().forward(x, mask) + torch.zeros(1 << 46)[0]


class Broken(Plain):
    def forward(self, x, mask):
        raise ArithmeticError("two and two make five")


class BrokenCausal(Broken):
    card = MixerCard(name="broken", causal=True)


class Endless(Plain):
    def forward(self, x, mask):
        time.sleep(3600)


class TalkativeHog(Hog):
    def forward(self, x, mask):
        sys.stdout.write("a line among the answers\n")
        sys.stdout.flush()
        return super().forward(x, mask)


class Leaving(Plain):
    def forward(self, x, mask):
        sys.stderr.write("my last words\n")
        sys.stderr.flush()
        os._exit(3)


class Convolving(Plain):
    """A convolution over three positions and a linear map."""

    def __init__(self, place, options, previous=None):
        super().__init__(place, options, previous)
        self.near = torch.nn.Conv1d(place.width, place.width, 3, padding=1)
        self.output = torch.nn.Linear(place.width, place.width)

    def forward(self, x, mask):
        return self.output(self.near((x * mask[..., None]).mT).mT)


class Honest(Transformer):
    """Attends to everything, as it says."""


class Misdeclared(Transformer):
    """Attends to everything and claims to be linear."""

    card = Transformer.card.model_copy(update={"exponent": 1.0})

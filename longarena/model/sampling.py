"""Draw the next token from logits.

temperature    divides the logits: below 1 the likely tokens become likelier, 0 takes the best
top_k          only so many of the likeliest tokens can be drawn
"""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from longarena.errors import UserError


@dataclass(frozen=True)
class Sampling:
    """How tokens are drawn; without a `top_k` from all of them."""

    temperature: float = 1.0
    top_k: int | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.temperature < math.inf:
            raise UserError(f"temperature {self.temperature} is not a number from 0 upwards")
        if self.top_k is not None and self.top_k < 1:
            raise UserError(f"top-k {self.top_k} leaves nothing to draw; choose 1 or more")

    def draw(
        self, logits: Float[Tensor, "batch vocabulary"], rng: torch.Generator
    ) -> Int[Tensor, " batch"]:
        """Draw one token for every row, on the CPU, so that devices agree.

        >>> greedy = Sampling(temperature=0.0)
        >>> greedy.draw(torch.tensor([[0.1, 0.7, 0.2]]), torch.Generator()).tolist()
        [1]
        """
        logits = logits.double().cpu()
        if self.temperature == 0:
            return logits.argmax(dim=-1)
        # the greatest is subtracted first: a low temperature would take it beyond all numbers
        scaled = (logits - logits.amax(dim=-1, keepdim=True)) / self.temperature
        if self.top_k is not None and self.top_k < scaled.shape[-1]:
            least = scaled.topk(self.top_k, dim=-1).values[:, -1:]
            scaled = scaled.masked_fill(scaled < least, -math.inf)
        return torch.multinomial(scaled.softmax(dim=-1), 1, generator=rng)[:, 0]

"""A tally: sums over answers, which add up over devices, parts of a batch and resumed runs.

    mean loss = loss / weight        mean score = score / weight

The standard error of the mean score is that of a mean over examples, each with the average weight:
examples are independent of each other, but the tokens of one example are not.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

NUM_SUMS = 5


class Tally:
    """Sums in double precision, on the device of the model.

    loss            the sum of the losses, without label smoothing, so that it can be compared
    score           the sum of the scores, before the metric scales them
    score_squared   the sum of the examples' squared scores
    weight          what loss and score are divided by: examples or tokens
    examples        how many examples were answered
    """

    def __init__(self, sums: Tensor) -> None:
        self.sums = sums

    @classmethod
    def zero(cls, device: torch.device | str = "cpu") -> "Tally":
        """Return the tally of nothing."""
        return cls(torch.zeros(NUM_SUMS, dtype=torch.float64, device=device))

    @classmethod
    def of(cls, loss: Tensor, scores: Tensor, weight: int | Tensor) -> "Tally":
        """Tally a batch by its summed loss and the score of each of its examples.

        >>> tally = Tally.of(torch.tensor(3.0), torch.tensor([1.0, 0.0, 1.0, 1.0]), weight=4)
        >>> tally.mean_loss, tally.mean_score, round(tally.error, 4)
        (0.75, 0.75, 0.2165)
        """
        exact = scores.double()
        sums = [loss.detach().double(), exact.sum(), exact.square().sum()]
        # filled on the device: nothing is copied there
        examples = exact.new_full((), len(scores))
        whole = weight.double() if isinstance(weight, Tensor) else exact.new_full((), weight)
        return cls(torch.stack([*sums, whole, examples]))

    @classmethod
    def read(cls, numbers: Sequence[float], device: torch.device | str = "cpu") -> "Tally":
        """Return the tally of sums that `numbers` returned."""
        return cls(torch.tensor(numbers, dtype=torch.float64, device=device))

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(self.sums + other.sums)

    @property
    def numbers(self) -> list[float]:
        """The five sums, read back from the device."""
        return [float(value) for value in self.sums.tolist()]

    @property
    def mean_loss(self) -> float:
        """The loss per unit of weight."""
        loss, _, _, weight, _ = self.numbers
        return loss / weight

    @property
    def mean_score(self) -> float:
        """The score per unit of weight."""
        _, score, _, weight, _ = self.numbers
        return score / weight

    @property
    def error(self) -> float:
        """The standard error of the mean score."""
        _, score, squared, weight, examples = self.numbers
        variance = max(0.0, squared / examples - (score / examples) ** 2)
        return math.sqrt(variance / examples) * examples / weight

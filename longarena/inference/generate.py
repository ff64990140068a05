"""Continue a text with a trained model, byte by byte.

The model sees at most `context` bytes, by default as many as in training. When it has read so many,
it begins anew with the last half of them, as evaluation does: positions that were never trained
mean nothing, and those that are added to the tokens end there.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass

import torch

from longarena.errors import UserError
from longarena.model.model import Model
from longarena.model.sampling import Sampling
from longarena.model.stepping import NextLogits, Stepper
from longarena.seeding import torch_rng


@dataclass
class Spent:
    """What generating took; `state_bytes` is what the model carries at the end."""

    num_tokens: int = 0
    seconds: float = 0.0
    prompt_seconds: float = 0.0
    state_bytes: int = 0
    num_restarts: int = 0

    @property
    def tokens_per_second(self) -> float:
        """The rate of writing, without the reading of the prompt; 0 before anything was written."""
        return self.num_tokens / self.seconds if self.seconds else 0.0


class TextGenerator:
    """Continues texts; `spent` says what the last one took."""

    def __init__(self, model: Model, context: int, sampling: Sampling, seed: int = 0) -> None:
        most = Stepper(model).most_tokens
        if most is not None and context > most:
            raise UserError(
                f"a context of {context:,} bytes is beyond this model, which reads at most "
                f"{most:,}; choose a smaller one"
            )
        self.model, self.context, self.sampling, self.seed = model, context, sampling, seed
        self.spent = Spent()

    def continued(self, prompt: bytes, number: int) -> Iterator[bytes]:
        """Yield so many bytes, one after another; the same ones for the same seed."""
        self.spent = spent = Spent()
        rng = torch_rng(self.seed, "generate")
        start = time.perf_counter()
        text = bytearray(prompt)
        stepper, logits = self._begin(text)
        spent.prompt_seconds = time.perf_counter() - start
        for _ in range(number):
            start = time.perf_counter()
            text.append(int(self.sampling.draw(logits, rng)))
            if stepper.num_tokens < self.context:
                logits = stepper.read(self._ids(text[-1:]))
            else:
                stepper, logits = self._begin(text)
                spent.num_restarts += 1
            spent.seconds += time.perf_counter() - start
            spent.num_tokens += 1
            spent.state_bytes = stepper.num_bytes
            yield bytes(text[-1:])

    def _begin(self, text: bytearray) -> tuple[Stepper, NextLogits]:
        """Read a text from its beginning, or its last part if it is too long."""
        stepper = Stepper(self.model)
        read = text if len(text) <= self.context else text[-(self.context // 2) :]
        return stepper, stepper.start(self._ids(read))

    def _ids(self, text: bytearray) -> torch.Tensor:
        device = next(self.model.parameters()).device
        return torch.tensor([[byte + 1 for byte in text]], dtype=torch.long, device=device)

"""What is measured of generation: reading a context, and some tokens after it.

    read        a prompt of `context` tokens at once, from nothing
    generate    TOKENS tokens one after the other, after that context

Choice: before each timing of `generate` the state after the context is copied, which is not timed,
        so that every timing is at the same context.
Choice: the tokens are random and fixed. To draw one from the logits costs every mechanism the same.
Choice: positions are sinusoidal, as in all that is measured; the model is built for the context and
        the tokens after it, in any length that a mechanism with tables of its own needs.
"""

from functools import cached_property

import torch

from longarena.model.config import ModelConfig
from longarena.model.model import num_parameters
from longarena.model.stepping import Stepper
from longarena.seeding import torch_rng
from longarena.tasks.signature import Signature
from longarena.tracks.language import Language

TOKENS = 8
VOCAB_SIZE = 257


class Generation:
    """A model that has read a context, ready to go on from there."""

    def __init__(self, config: ModelConfig, context: int, batch_size: int) -> None:
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        signature = Signature(vocab_size=VOCAB_SIZE, max_length=context + TOKENS, track="language")
        self.model = Language().build(config, signature, seed=0).to(device)
        self.batch_size = batch_size
        size, rng = (batch_size, context + TOKENS), torch_rng(0, "measure")
        ids = torch.randint(1, VOCAB_SIZE, size, generator=rng).to(device)
        self.context, self.tokens = ids[:, :context], ids[:, context:]
        self.going_on = Stepper(self.model, batch_size)

    @cached_property
    def after_context(self) -> Stepper:
        """The model at the end of the context."""
        return self.read()

    def read(self) -> Stepper:
        """Read the context from nothing."""
        stepper = Stepper(self.model, self.batch_size)
        stepper.start(self.context)
        return stepper

    def put_back(self) -> None:
        """Go back to the end of the context."""
        self.going_on = self.after_context.fork()

    def generate(self) -> None:
        """Read some tokens one after the other."""
        for token in self.tokens.T[..., None]:
            self.going_on.read(token)

    @property
    def state_bytes(self) -> int:
        """What one row carries to the next token at the end of the context."""
        return self.after_context.num_bytes // self.batch_size

    @property
    def parameters(self) -> int:
        """How many numbers are trained."""
        return num_parameters(self.model)

"""What a pretraining hides, what it asks, and for how long it lasts."""

from typing import Literal

from pydantic import Field

from longarena.options import Options, Positive

TRACKS = {"token": "denoising", "value": "value-denoising"}


class Masking(Options):
    """Which share of the tokens is hidden, and what is asked: which token it is, or what number."""

    share: float = Field(gt=0, lt=1)
    target: Literal["token", "value"]

    @property
    def track(self) -> str:
        """The name of the track that asks this."""
        return TRACKS[self.target]


class Pretraining(Masking):
    """How a run is pretrained: for so many steps, at a peak rate; None means the run's own."""

    steps: Positive
    rate: float | None = Field(None, gt=0)

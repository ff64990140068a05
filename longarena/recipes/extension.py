"""How a run goes on from another with longer sequences."""

from typing import Literal

from pydantic import model_validator

from longarena.options import Options, Positive, Values

SHARED = {"extension", "masking", "model", "preset", "seed"}


class Extension(Options):
    """The run that was trained before, on sequences of up to `length` tokens.

    `free` says what is trained: everything, or the positions that are new. `before` has the fields
    of the recipe that had other values then.
    """

    length: Positive
    free: Literal["all", "positions"] = "all"
    before: Values

    @model_validator(mode="after")
    def _shares_the_model(self) -> "Extension":
        if other := SHARED.intersection(self.before):
            raise ValueError(f"both runs have the same {', '.join(sorted(other))}")
        return self

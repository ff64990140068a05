"""What `config.json` of an exported model says: how to build it, what it reads, how good it is."""

from typing import Literal

from pydantic import Field

from longarena.model.config import ModelConfig
from longarena.model.decoding import Decoding
from longarena.options import Natural, Options, Positive, Values
from longarena.tasks.raw_input import RawInput
from longarena.tasks.signature import Signature
from longarena.tracks.metric import Metric

KIND: Literal["longarena model"] = "longarena model"
FORMAT: Literal[1] = 1


class TrainedOn(Options):
    """Which task and data a model was trained on, in the words of its recipe."""

    task: str
    version: Natural
    data: str
    options: Values
    size: float
    shuffle: str = ""
    fingerprint: str


class TestScore(Options):
    """What the model scored on the test split of its data."""

    metric: Metric
    value: float
    error: float = Field(ge=0)
    examples: Positive


class ExportedConfig(Options):
    """Everything about a trained model but its weights.

    `raw_input` says how texts or arrays become tokens, `classes` what the answers are called; where
    classes have numbers alone, or there are none, it is empty. `test` is None if the run was never
    tested. `weights` and `tokeniser` are the digests of the files beside.
    """

    kind: Literal["longarena model"] = KIND
    format: Literal[1] = FORMAT
    longarena: str
    run: str
    step: Natural
    model: ModelConfig
    signature: Signature
    seed: Natural
    raw_input: RawInput
    classes: tuple[str, ...] = ()
    decoding: Decoding
    trained_on: TrainedOn
    test: TestScore | None
    weights: str = ""
    tokeniser: str | None = None

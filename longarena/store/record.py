"""Records: what a run or a measurement found, with all that is needed to find it again.

One JSON file each, written once and atomically. Tables, charts and pages are functions of them.
"""

from typing import Literal

from pydantic import Field

from longarena.model.config import ModelConfig
from longarena.options import Options
from longarena.recipes.recipe import Recipe
from longarena.runtime import Machine, Versions

Status = Literal["finished", "diverged"]


class SplitScore(Options):
    """How a model does on one split."""

    accuracy: float
    loss: float
    examples: int


class RunMetrics(Options):
    """The numbers of a run; `majority` is the score of always naming the commonest class."""

    valid: SplitScore | None
    test: SplitScore | None
    majority: float
    best_step: int
    steps: int
    steps_per_second: float
    tokens_per_second: float
    peak_resident_bytes: int
    parameters: int
    padding_share: float
    train_seconds: float


class Curve(Options):
    """The validation accuracy over the steps of a run."""

    steps: list[int]
    valid_accuracy: list[float]


class RunRecord(Options):
    """A finished run."""

    format: Literal[1] = 1
    kind: Literal["run"] = "run"
    id: str
    recipe: Recipe
    variant: str
    fingerprint: str
    status: Status
    metrics: RunMetrics
    curve: Curve
    machine: Machine
    versions: Versions
    finished_at: str


class Measurement(Options):
    """What a training step of a mechanism costs at one length."""

    steps_per_second: float
    seconds_per_step: list[float] = Field(min_length=1)
    peak_live_bytes: int
    parameters: int


class MeasureRecord(Options):
    """The cost of one mechanism at one length, measured together with others in one `session`."""

    format: Literal[1] = 1
    kind: Literal["measure"] = "measure"
    id: str
    session: str
    model: ModelConfig
    length: int
    batch_size: int
    metrics: Measurement
    machine: Machine
    versions: Versions
    finished_at: str


Record = RunRecord | MeasureRecord

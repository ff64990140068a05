"""Records: what a run or a measurement found, with all that is needed to find it again.

One JSON file each, written once and atomically. Tables, charts and pages are functions of them.
"""

import math
from typing import Literal

from pydantic import Field

from longarena.model.config import ModelConfig
from longarena.options import Options
from longarena.recipes.recipe import Recipe
from longarena.runtime import Machine, Versions

# collapsed: the loss never left that of the best constant answer, nor did the score; diverged: the
# loss became no number
Status = Literal["finished", "collapsed", "diverged"]
# how far a score must be above another for its place to be no luck
NUM_STANDARD_ERRORS = 3


def is_beyond_luck(score: float, level: float, variance: float) -> bool:
    """Tell whether a score of some variance is above a level by three standard errors."""
    return score > level + NUM_STANDARD_ERRORS * math.sqrt(variance)


class SplitScore(Options):
    """How a model does on one split."""

    accuracy: float
    loss: float
    examples: int

    def is_above(self, level: float) -> bool:
        """Tell whether the accuracy is above a level by three standard errors.

        >>> score = SplitScore(accuracy=0.6, loss=0.69, examples=100)
        >>> score.is_above(0.45), score.is_above(0.5)
        (True, False)
        """
        variance = self.accuracy * (1 - self.accuracy) / self.examples
        return is_beyond_luck(self.accuracy, level, variance)


class RunMetrics(Options):
    """The numbers of a run; `majority` is the score of always naming the commonest class.

    `confusion` counts the test examples: a row per class, a column per answer.
    """

    valid: SplitScore | None
    test: SplitScore | None
    confusion: list[list[int]] | None = None
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

    @property
    def outcome(self) -> str:
        """What came of it in a few words, as `collapsed, test accuracy 16.20%`."""
        test = self.metrics.test
        state = "" if self.status == "finished" else f"{self.status}, "
        return f"{state}test accuracy {test.accuracy:.2%}" if test else self.status


class FailureRecord(Options):
    """A run that ended in an error; the record of a later success takes its place."""

    format: Literal[1] = 1
    kind: Literal["failure"] = "failure"
    id: str
    recipe: Recipe
    variant: str
    status: Literal["failed"] = "failed"
    error: str
    machine: Machine
    versions: Versions
    finished_at: str


class Measurement(Options):
    """What one step of a mechanism takes; `seconds_per_step` has one entry per timing that counts.

    They are at the median pace that the machine had while all of one length were timed;
    `steps_per_second` is the inverse of their median. Live bytes are those of tensors, which a
    second measurement repeats exactly; resident bytes are what the system saw, allocator and all.
    """

    steps_per_second: float
    seconds_per_step: list[float] = Field(min_length=1)
    tokens_per_second: float
    peak_live_bytes: int
    peak_resident_bytes: int
    parameters: int


class Cost(Options):
    """What a model costs without a clock: Mult-Adds per token, by kind of layer.

    The kinds are of a prediction (`measure/cost.py` says what belongs to which); `training_step` is
    all of forward and backward. Activations are what forward keeps for backward, in bytes.
    """

    parameters: int
    attention: float
    convolution: float
    feed_forward: float
    head_and_embedding: float
    training_step: float
    activation_bytes: int

    @property
    def mixer(self) -> float:
        """Mult-Adds per token of the mixers."""
        return self.attention + self.convolution

    @property
    def forward(self) -> float:
        """Mult-Adds per token of the forward pass."""
        return self.mixer + self.feed_forward + self.head_and_embedding


class Limits(Options):
    """What the machine itself reaches: the best rates of large products and copies.

    `typical_flops_per_second` is the median rate while the mechanisms were timed: less under load.
    """

    flops_per_second: float
    copy_bytes_per_second: float
    typical_flops_per_second: float | None = None

    @property
    def pace(self) -> float:
        """The share of its best rate that the machine had while the mechanisms were timed."""
        return (self.typical_flops_per_second or self.flops_per_second) / self.flops_per_second


MeasureStatus = Literal["measured", "out of memory", "timed out", "failed"]


class MeasureRecord(Options):
    """The cost of one mechanism at one length, measured together with others in one `session`.

    `metrics` are of the training step and there only if it could be measured; `reason` says why
    not. `repeat` counts the same mechanism measured again in the same session.
    """

    format: Literal[1] = 1
    kind: Literal["measure"] = "measure"
    id: str
    session: str
    repeat: int = 0
    model: ModelConfig
    length: int
    batch_size: int
    status: MeasureStatus = "measured"
    reason: str = ""
    metrics: Measurement | None
    inference: Measurement | None = None
    cost: Cost | None = None
    limits: Limits | None = None
    machine: Machine
    versions: Versions
    finished_at: str

    @property
    def training_share(self) -> float | None:
        """The share of the machine's rate of products that a training step reaches."""
        return self._limit_share(self.metrics, self.cost.training_step if self.cost else None)

    @property
    def prediction_share(self) -> float | None:
        """The share of the machine's rate of products that a prediction reaches."""
        return self._limit_share(self.inference, self.cost.forward if self.cost else None)

    def _limit_share(
        self, found: Measurement | None, mult_adds_per_token: float | None
    ) -> float | None:
        if found is None or mult_adds_per_token is None or self.limits is None:
            return None
        # a Mult-Add is two operations
        flops_per_second = 2 * mult_adds_per_token * found.tokens_per_second
        return flops_per_second / self.limits.flops_per_second


class SpanRecord(Options):
    """How far a trained model looks: mean distances by layer and head, in tokens."""

    format: Literal[1] = 1
    kind: Literal["span"] = "span"
    id: str
    recipe: Recipe
    variant: str
    fingerprint: str
    samples: int
    mean_length: float
    mean_span: float
    spans: list[list[float]]
    machine: Machine
    versions: Versions
    finished_at: str


Record = RunRecord | FailureRecord | MeasureRecord | SpanRecord

"""Records: what a run or a measurement found, with everything needed to repeat it.

One JSON file each, written once and atomically. Tables, charts and pages are functions of them.
"""

from typing import TYPE_CHECKING, Annotated, Literal, Protocol

from pydantic import Field, model_validator

from longarena.model.config import MAX_NAME, ModelConfig
from longarena.options import Natural, Options, Positive, Values
from longarena.recipes.recipe import Recipe
from longarena.records.choice import ChoiceRecord
from longarena.records.tuning import TuningRecord
from longarena.runtime import Machine, Versions
from longarena.tracks.metric import Metric

# collapsed: neither loss nor score became better than those of the best constant answer;
# diverged: the loss became infinite or NaN
Status = Literal["finished", "collapsed", "diverged"]
# ids are parts of paths
Name = Annotated[str, Field(min_length=1, max_length=MAX_NAME)]
Amount = Annotated[float, Field(ge=0)]
Rate = Annotated[float, Field(gt=0)]
# how many standard errors a score must be above another so that luck does not explain it
NUM_STANDARD_ERRORS = 3


def is_significant(metric: Metric, value: float, level: float, error: float) -> bool:
    """Tell whether a value is better than a level by three standard errors.

    >>> from longarena.tracks.metric import ACCURACY
    >>> is_significant(ACCURACY, 0.6, 0.45, 0.049), is_significant(ACCURACY, 0.6, 0.5, 0.049)
    (True, False)
    """
    margin = NUM_STANDARD_ERRORS * error
    return metric.is_better(value, level + margin if metric.better == "more" else level - margin)


class SplitScore(Options):
    """How a model does on one split: the metric's value, its standard error, the loss.

    `weight` is what the sums were divided by: examples, or the tokens of all examples.
    """

    value: float
    error: float = Field(ge=0)
    loss: float
    weight: float = Field(gt=0)
    examples: Positive


class LateTraining(Options):
    """The means over the last quarter of training, and what its loss is to be compared with.

    That is the loss of the first steps that were logged, and of the best constant answer.
    """

    value: float | None
    loss: float
    first_loss: float
    level_loss: float


class RunMetrics(Options):
    """The numbers of a run; `level` is what the best answer without a model scores on test.

    `details` are what the track adds about the test split, such as a confusion matrix. `late` is
    missing where a run diverged, and in records from before it was kept.
    """

    valid: SplitScore | None
    test: SplitScore | None
    level: float
    details: Values = Field(default_factory=dict)
    best_step: Natural
    steps: Natural
    steps_per_second: float = Field(ge=0)
    tokens_per_second: float = Field(ge=0)
    peak_resident_bytes: Natural
    parameters: Natural
    padding_share: float = Field(ge=0, le=1)
    train_seconds: float = Field(ge=0)
    late: LateTraining | None = None


class Curve(Options):
    """The validation scores of a run, over its steps and over the seconds of training."""

    steps: list[Natural]
    seconds: list[Annotated[float, Field(ge=0)]]
    values: list[float]


class StartRecord(Options):
    """The run that another began with: what it cost, and what it scored at its own question.

    `length` is that of its sequences, if the other one only has longer ones; None means that it was
    a pretraining.
    """

    run: Name
    steps: Natural
    train_seconds: Amount
    metric: Metric
    status: Status
    value: float
    level: float
    length: Positive | None = None

    @property
    def kind(self) -> str:
        """What came before, such as `pretraining`."""
        return f"training at length {self.length:,}" if self.length else "pretraining"

    @property
    def words(self) -> str:
        """The start in one line, such as `400 steps of pretraining: recovered 43.1% ...`."""
        write = self.metric.write_with_unit
        return (
            f"{self.steps:,} steps of {self.kind} ({self.run}): {self.metric.name} "
            f"{write(self.value)} (without a model {write(self.level)})"
        )


class _Named(Options):
    """The names in a recipe by which runs are told apart."""

    if TYPE_CHECKING:
        id: Name
        recipe: Recipe

    @property
    def is_mislabelled(self) -> bool:
        """Whether the id is not that of the recipe, so that the record belongs to no run."""
        return self.id != self.recipe.id

    @property
    def preset(self) -> str:
        """The preset of its recipe."""
        return self.recipe.preset

    @property
    def task_name(self) -> str:
        """The task of its recipe."""
        return self.recipe.task.name

    @property
    def mixer(self) -> str:
        """The mechanism of its recipe."""
        return self.recipe.model.mixer

    @property
    def seed(self) -> int:
        """The seed of its recipe."""
        return self.recipe.seed

    @property
    def is_masked(self) -> bool:
        """Whether it fills in hidden tokens, so that others may begin with it."""
        return self.recipe.masking is not None


class HasSeconds(Protocol):
    """What counts the seconds of training."""

    @property
    def train_seconds(self) -> float:
        """The seconds of this run alone."""


class Timed:
    """The seconds of a run, with those of the one that it began with."""

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def start(self) -> "StartRecord | None": ...
        @property
        def metrics(self) -> "HasSeconds": ...
        @property
        def curve(self) -> "Curve": ...

    @property
    def start_seconds(self) -> float:
        """The seconds of training that the run before this one took; 0 without one."""
        return self.start.train_seconds if self.start else 0.0

    @property
    def total_seconds(self) -> float:
        """The seconds of training of this run and of the one that it began with."""
        return self.start_seconds + self.metrics.train_seconds

    @property
    def curve_seconds(self) -> list[float]:
        """The seconds of the curve, with those of the run before this one."""
        return [self.start_seconds + seconds for seconds in self.curve.seconds]


class RunRecord(Timed, _Named):
    """A run that has ended.

    It holds the whole metric, so that it can be shown where its task is not installed. `answers` is
    the digest of the answers to the test split, which are kept beside the record. `start` is the
    run whose backbone it began with; the seconds of metrics and curve do not include that one's.
    """

    format: Literal[2] = 2
    kind: Literal["run"] = "run"
    id: Name
    recipe: Recipe
    metric: Metric
    variant: str
    fingerprint: str
    status: Status
    metrics: RunMetrics
    curve: Curve
    answers: str | None = None
    start: StartRecord | None = None
    machine: Machine
    versions: Versions
    finished_at: str

    @model_validator(mode="after")
    def _shares_are_shares(self) -> "RunRecord":
        scores = [score.value for score in (self.metrics.valid, self.metrics.test) if score]
        if self.metric.is_share and not all(0 <= value <= 1 for value in scores):
            raise ValueError(f"{self.metric.name}: a share is between 0 and 1")
        return self

    @property
    def is_at_chance(self) -> bool:
        """Whether the test score is not better than an answer without a model, luck aside."""
        test, level = self.metrics.test, self.metrics.level
        return test is not None and not is_significant(self.metric, test.value, level, test.error)

    @property
    def outcome(self) -> str:
        """The result in a few words, such as `collapsed, test accuracy 16.2%`."""
        test = self.metrics.test
        if test is None:
            return self.status
        state = "" if self.status == "finished" else f"{self.status}, "
        return f"{state}test {self.metric.name} {self.metric.write_with_unit(test.value)}"


class FailureRecord(_Named):
    """A run that ended in an error; the record of a later success takes its place."""

    format: Literal[2] = 2
    kind: Literal["failure"] = "failure"
    id: Name
    recipe: Recipe
    variant: str
    status: Literal["failed"] = "failed"
    error: str
    machine: Machine
    versions: Versions
    finished_at: str


class Measurement(Options):
    """What one step of a mechanism takes; `seconds_per_step` has one entry per timing that counts.

    These are seconds at the median pace that the machine had while all mechanisms of one length
    were timed; `steps_per_second` is the inverse of their median. Live bytes are those of tensors,
    which a second measurement repeats exactly; resident bytes include the allocator's reserve.
    """

    steps_per_second: Rate
    seconds_per_step: list[Rate] = Field(min_length=1)
    tokens_per_second: Rate
    peak_live_bytes: Natural
    peak_resident_bytes: Natural
    parameters: Natural


class Cost(Options):
    """What a model costs without a clock: Mult-Adds per token, by kind of layer.

    The kinds are those of a prediction (`model/mult_adds.py` says what belongs to which);
    `training_step` is all of forward and backward. Activations are what the forward pass keeps for
    the backward pass.
    """

    parameters: Natural
    attention: Amount
    convolution: Amount
    feed_forward: Amount
    head_and_embedding: Amount
    training_step: Amount
    activation_bytes: Natural

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

    `typical_flops_per_second` is the median rate while the mechanisms were timed, lower under load.
    """

    flops_per_second: Rate
    copy_bytes_per_second: Rate
    typical_flops_per_second: Rate | None = None

    @property
    def pace(self) -> float:
        """The share of its best rate that the machine had while the mechanisms were timed."""
        return (self.typical_flops_per_second or self.flops_per_second) / self.flops_per_second


MeasureStatus = Literal["measured", "out of memory", "timed out", "failed"]


class MeasureRecord(Options):
    """The cost of one mechanism at one length, measured together with others in one `session`.

    `metrics` are those of the training step, if it could be measured; `reason` says why not.
    `repeat` numbers the measurements of one mechanism in one session.
    """

    format: Literal[2] = 2
    kind: Literal["measure"] = "measure"
    id: Name
    session: str
    repeat: Natural = 0
    model: ModelConfig
    length: Positive
    batch_size: Positive
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


class GenerationRecord(Options):
    """What it costs to generate with one mechanism after a context, measured in one `session`.

    Times have one entry per timing that counts, as in `Measurement`; those of a token are of one
    row of the batch or of all, since the rows go side by side. `state_bytes` is what one row
    carries to the next token.
    """

    format: Literal[2] = 2
    kind: Literal["generation"] = "generation"
    id: Name
    session: str
    repeat: Natural = 0
    model: ModelConfig
    context: Positive
    batch_size: Positive
    status: MeasureStatus = "measured"
    reason: str = ""
    seconds_per_token: list[Rate] = Field(default_factory=list)
    read_seconds: list[Rate] = Field(default_factory=list)
    state_bytes: Natural = 0
    parameters: Natural = 0
    limits: Limits | None = None
    machine: Machine
    versions: Versions
    finished_at: str


CostRecord = MeasureRecord | GenerationRecord


class SpanRecord(Options):
    """How far a trained model looks: mean distances by layer and head, in tokens."""

    format: Literal[2] = 2
    kind: Literal["span"] = "span"
    id: Name
    recipe: Recipe
    variant: str
    fingerprint: str
    samples: Positive
    mean_length: Rate
    mean_span: Amount
    spans: list[Annotated[list[Amount], Field(min_length=1)]] = Field(min_length=1)
    machine: Machine
    versions: Versions
    finished_at: str


Record = RunRecord | FailureRecord | CostRecord | SpanRecord | TuningRecord | ChoiceRecord

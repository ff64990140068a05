"""What passes between the measuring process and its workers: one line of JSON each."""

from typing import Literal

from longarena.measure.speed import Timing
from longarena.model.config import ModelConfig
from longarena.options import Options
from longarena.records.record import Cost, MeasureStatus

StepName = Literal["train", "predict", "copy", "read", "generate"]


class Order(Options):
    """Everything that a worker must know; without a model it copies memory.

    With `generates` the model is causal, and `length` is the context that it has read.
    """

    model: ModelConfig | None
    length: int
    batch_size: int
    threads: int
    memory_limit_bytes: int | None
    generates: bool = False


class Command(Options):
    """Step once, take a turn of timed steps, weigh one step's memory, or count its operations.

    "carry" asks what a model that generates carries to the next token.
    """

    do: Literal["warm up", "turn", "weigh", "count", "carry"]
    step: StepName = "train"
    seconds: float = 0.0


class Answer(Options):
    """The result of a command: a turn, bytes or a cost, or the reason why there is none.

    "refused" means a mistake in what was asked for, "failed" one in the mechanism.
    """

    status: MeasureStatus | Literal["refused"] = "measured"
    reason: str = ""
    timings: tuple[Timing, ...] = ()
    live_bytes: int = 0
    resident_bytes: int = 0
    cost: Cost | None = None
    state_bytes: int = 0
    parameters: int = 0

"""What passes between the measuring process and its workers: one line of JSON each."""

from typing import Literal

from longarena.model.config import ModelConfig
from longarena.options import Options
from longarena.store.record import Cost, MeasureStatus

StepName = Literal["train", "predict", "product", "copy"]


class Order(Options):
    """All that a worker must know; without a model it measures the machine itself."""

    model: ModelConfig | None
    length: int
    batch_size: int
    threads: int
    memory_limit_bytes: int | None


class Command(Options):
    """Take a turn of timed steps, weigh one step's memory, or count its operations."""

    do: Literal["turn", "weigh", "count"]
    step: StepName = "train"
    seconds: float = 0.0


class Answer(Options):
    """What came of a command: a turn, bytes, or a cost; or why there is none.

    Of a turn: the median step, and the share of the time for which it waited for a core.
    "refused" is a mistake in what was asked for, "failed" one in the mechanism.
    """

    status: MeasureStatus | Literal["refused"] = "measured"
    reason: str = ""
    seconds: float = 0.0
    waited: float = 0.0
    live_bytes: int = 0
    resident_bytes: int = 0
    cost: Cost | None = None

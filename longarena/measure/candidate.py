"""A candidate: one mechanism at one length, measured in a worker of its own.

A mechanism is named as in the table or as `module:Class`, and may have options in brackets:
`local[block=128,neighbours=1]`.
"""

import hashlib
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from statistics import median

import torch

from longarena import attention
from longarena.errors import UserError
from longarena.loading import ALL, spread
from longarena.measure.generating import TOKENS
from longarena.measure.messages import Answer, Command, Order, StepName
from longarena.measure.process import WorkerProcess
from longarena.measure.speed import Participant, Timing
from longarena.measure.work import Shape
from longarena.model.config import ModelConfig
from longarena.options import read_value
from longarena.recipes.presets import mixers_of
from longarena.recipes.presets import preset as preset_recipe
from longarena.recipes.presets.outside import name_in_recipe, options_of
from longarena.recipes.recipe import Recipe, override, override_some
from longarena.records.record import (
    Cost,
    CostRecord,
    GenerationRecord,
    Limits,
    Measurement,
    MeasureRecord,
    MeasureStatus,
)
from longarena.runtime import machine, versions

ID_LENGTH = 10
NAME_WITH_OPTIONS = re.compile(r"(?P<name>[^\[\]]+)(\[(?P<options>.+)\])?")


def read_mixer(text: str, shape: Shape) -> ModelConfig:
    """Read the name of a mechanism, with options if it has any.

    >>> shape = Shape(width=64, depth=2, num_heads=2, mlp_width=128)
    >>> read_mixer("transformer[materialised=true]", shape).options
    {'materialised': True}
    """
    return shape.with_mixer(*read_name(text))


def read_name(text: str) -> tuple[str, dict[str, object]]:
    """Split a text into the name of a known mechanism and its options."""
    match = NAME_WITH_OPTIONS.fullmatch(text)
    if match is None:
        raise UserError(f"{text!r} is not of the form name or name[option=value,...]")
    attention.find(match["name"])
    options: dict[str, object] = {}
    # split only at commas before a name: there are others inside lists of values
    for assignment in re.split(r",\s*(?=\w+=)", match["options"] or ""):
        key, _, value = assignment.partition("=")
        options |= {key: read_value(value)} if assignment else {}
    return match["name"], options


def read_mixers(names: Sequence[str], shape: Shape) -> list[ModelConfig]:
    """Read several names, by default those of the whole table."""
    return [read_mixer(name, shape) for name in spread(names or [ALL], attention.CARDS)]


def read_recipes(
    names: Sequence[str], task: str, preset: str, assignments: Sequence[str]
) -> list[Recipe]:
    """Read mechanisms as recipes of a task, by default all that the preset has, and assignments."""
    able = mixers_of(preset, name_in_recipe(task)) or attention.CARDS
    read = [read_name(name) for name in spread(names or [ALL], able)]
    how = options_of(task, assignments)
    recipes = [preset_recipe(task, mixer, preset, options=how) for mixer, _ in read]
    return [
        override(recipe, [f"model.{key}={json.dumps(value)}" for key, value in options.items()])
        for recipe, (_, options) in zip(override_some(recipes, assignments), read, strict=True)
    ]


def name_mixer(model: ModelConfig) -> str:
    """Write the mechanism of a model as `read_mixer` reads it."""
    options = ",".join(f"{key}={str(value).lower()}" for key, value in model.options.items())
    return f"{model.mixer}[{options}]" if options else model.mixer


@dataclass(frozen=True)
class Target:
    """What to measure, and under which conditions."""

    session: str
    model: ModelConfig
    repeat: int
    length: int
    batch_size: int
    steps: tuple[StepName, ...]

    @property
    def generates(self) -> bool:
        """Whether generation is measured, after a context of `length`."""
        return "generate" in self.steps

    @property
    def id(self) -> str:
        """The name of the record: a digest of everything that defines it."""
        source = self.model.own.source if self.model.own else ""
        return hashlib.sha256(f"{self!r}{source}".encode()).hexdigest()[:ID_LENGTH]

    def order(self, memory_limit_bytes: int | None) -> Order:
        """Write the order for a worker."""
        return Order(
            model=self.model,
            length=self.length,
            batch_size=self.batch_size,
            threads=torch.get_num_threads(),
            memory_limit_bytes=memory_limit_bytes,
            generates=self.generates,
        )


class Candidate(ABC):
    """A target and its worker; after the first failure the worker is not asked again."""

    def __init__(self, target: Target, worker: WorkerProcess) -> None:
        self.target, self.worker = target, worker
        self.status: MeasureStatus = "measured"
        self.reason = ""
        self.turns: dict[StepName, Participant] = {}

    def ask(self, command: Command) -> Answer | None:
        """Ask the worker; None if it can no longer answer."""
        if self.status != "measured":
            return None
        answer = self.worker.ask(command)
        if answer.status == "refused":
            raise UserError(answer.reason)
        if answer.status != "measured":
            self.status, self.reason = answer.status, answer.reason
            self.worker.end()
            return None
        return answer

    def take_turn(self, step: StepName, seconds: float) -> tuple[Timing, ...]:
        """Take one turn; return nothing if the worker cannot."""
        answer = self.ask(Command(do="turn", step=step, seconds=seconds))
        return () if answer is None else answer.timings

    def warm_up(self) -> None:
        """Take one step of each kind, alone, to see whether it works at all."""
        for step in self.target.steps:
            self.ask(Command(do="warm up", step=step))

    def participants(self, seconds: float) -> Iterable[Participant]:
        """Enter one participant per kind of step."""
        for step in self.target.steps:
            self.turns[step] = Participant(partial(self.take_turn, step, seconds))
        return self.turns.values()

    def seconds(self, step: StepName, all_timings: Sequence[Timing]) -> list[float]:
        """Return the timings that count, in seconds at the median pace of all timings."""
        pace = median(timing.product_seconds for timing in all_timings)
        return [products * pace for products in self.turns[step].products]

    @abstractmethod
    def weigh(self) -> None:
        """Measure what needs no clock, in separate passes."""

    @abstractmethod
    def record(self, all_timings: Sequence[Timing], limits: Limits | None) -> CostRecord:
        """Make the record, in seconds at the median pace of all timings."""


class TrainingCandidate(Candidate):
    """A candidate of which a training step is measured, and perhaps a prediction."""

    def __init__(self, target: Target, worker: WorkerProcess) -> None:
        super().__init__(target, worker)
        self.weights: dict[StepName, Answer] = {}
        self.cost: Cost | None = None

    def weigh(self) -> None:
        """Measure memory and count operations, in separate passes."""
        for step in self.target.steps:
            weight = self.ask(Command(do="weigh", step=step))
            if weight is not None:
                self.weights[step] = weight
        count = self.ask(Command(do="count"))
        self.cost = None if count is None else count.cost

    def record(self, all_timings: Sequence[Timing], limits: Limits | None) -> MeasureRecord:
        target = self.target
        return MeasureRecord(
            id=target.id,
            session=target.session,
            repeat=target.repeat,
            model=target.model,
            length=target.length,
            batch_size=target.batch_size,
            status=self.status,
            reason=self.reason,
            metrics=self.measurement("train", all_timings),
            inference=self.measurement("predict", all_timings),
            cost=self.cost,
            limits=limits,
            machine=machine(),
            versions=versions(),
            finished_at=datetime.now(UTC).isoformat(timespec="seconds"),
        )

    def measurement(self, step: StepName, all_timings: Sequence[Timing]) -> Measurement | None:
        """Summarise what one kind of step takes."""
        if self.cost is None or step not in self.target.steps:
            return None
        seconds = self.seconds(step, all_timings)
        weight = self.weights[step]
        rate = 1 / median(seconds)
        return Measurement(
            steps_per_second=rate,
            seconds_per_step=seconds,
            tokens_per_second=rate * self.target.batch_size * self.target.length,
            peak_live_bytes=weight.live_bytes,
            peak_resident_bytes=weight.resident_bytes,
            parameters=self.cost.parameters,
        )


class GeneratingCandidate(Candidate):
    """A candidate of which generation is measured."""

    def __init__(self, target: Target, worker: WorkerProcess) -> None:
        super().__init__(target, worker)
        self.carried = Answer()

    def weigh(self) -> None:
        """Ask what is carried to the next token."""
        self.carried = self.ask(Command(do="carry")) or self.carried

    def record(self, all_timings: Sequence[Timing], limits: Limits | None) -> GenerationRecord:
        target = self.target
        times = {
            step: self.seconds(step, all_timings) if self.status == "measured" else []
            for step in target.steps
        }
        return GenerationRecord(
            id=target.id,
            session=target.session,
            repeat=target.repeat,
            model=target.model,
            context=target.length,
            batch_size=target.batch_size,
            status=self.status,
            reason=self.reason,
            seconds_per_token=[seconds / TOKENS for seconds in times["generate"]],
            read_seconds=times["read"],
            state_bytes=self.carried.state_bytes,
            parameters=self.carried.parameters,
            limits=limits,
            machine=machine(),
            versions=versions(),
            finished_at=datetime.now(UTC).isoformat(timespec="seconds"),
        )

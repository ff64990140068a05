"""A worker: one process that holds one model at one length and runs steps on command.

It reads an `Order`, then a `Command` per line, and answers each with one line:

    {"do": "warm up", "step": "train"}                ->  {}
    {"do": "turn", "step": "train", "seconds": 0.4}   ->  {"timings": [{"seconds": ...}, ...]}
    {"do": "weigh", "step": "train"}                  ->  {"live_bytes": ..., "resident_bytes": ...}
    {"do": "count"}                                   ->  {"cost": {...}}
    {"do": "carry"}                                   ->  {"state_bytes": ..., "parameters": ...}

A failure is an answer too. Between two commands a worker holds no memory but its model, so that
workers that take turns each have the whole machine. When the other end of the pipe is closed, which
the system does even for a killed process, the worker ends at once, even in the middle of a step.
"""

import os
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from queue import SimpleQueue
from typing import IO

from longarena.errors import MixerError, UserError
from longarena.measure.cost import count_cost
from longarena.measure.generating import Generation
from longarena.measure.limits import copy_step, finish, product_timer
from longarena.measure.memory import (
    allocations,
    limit_memory,
    release_free_memory,
    total_bytes,
)
from longarena.measure.messages import Answer, Command, Order, StepName
from longarena.measure.speed import TIMINGS_PER_TURN, Timing
from longarena.measure.work import Step, byte_signature, prepare
from longarena.runtime import peak_resident_bytes, seconds_waited_for_a_core, set_up

# the last one is from a library that there is no room to load
MESSAGES_OF_FULL_MEMORY = (
    "can't allocate memory",
    "not enough memory",
    "out of memory",
    "failed to map segment",
)


def main() -> None:
    """Serve the commands that come in on standard input."""
    # what a mixer prints must not end up among the answers
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for answer in serve(_lines_until_the_end(sys.stdin)):
        answers.write(answer.model_dump_json(exclude_defaults=True) + "\n")
        answers.flush()


def _lines_until_the_end(source: IO[str]) -> Iterator[str]:
    """Yield the lines of a pipe; end the process as soon as the pipe ends."""
    lines: SimpleQueue[str] = SimpleQueue()

    def listen() -> None:
        for line in source:
            lines.put(line)
        os._exit(0)

    threading.Thread(target=listen, daemon=True).start()
    while True:
        yield lines.get()


def serve(lines: Iterator[str]) -> Iterator[Answer]:
    """Answer every line of commands; the first line is the order."""
    order = Order.model_validate_json(next(lines))
    set_up(order.threads)
    if order.memory_limit_bytes is not None:
        limit_memory(order.memory_limit_bytes)
    bench: Bench | None = None
    for line in lines:
        try:
            bench = bench or Bench(order)
            answer = bench.carry_out(Command.model_validate_json(line))
        except Exception as error:
            answer = error_answer(error)
        release_free_memory()
        yield answer


class Bench:
    """The steps of an order, and what can be done with them."""

    def __init__(self, order: Order) -> None:
        self.product_seconds = product_timer()
        self.warm: set[StepName] = set()
        self.steps: dict[StepName, Step]
        # what must be done before a step and is not timed
        self.before: dict[StepName, Step] = {}
        if order.model is None:
            self.steps = {"copy": copy_step()}
        elif order.generates:
            self.generation = Generation(order.model, order.length, order.batch_size)
            self.steps = {"read": self.generation.read, "generate": self.generation.generate}
            self.before = {"generate": self.generation.put_back}
        else:
            self.work = prepare(order.model, byte_signature(order.length), order.batch_size)
            self.steps = {"train": self.work.train, "predict": self.work.predict}

    def carry_out(self, command: Command) -> Answer:
        """Do what a command says."""
        if command.do == "count":
            return Answer(cost=count_cost(self.work))
        if command.do == "carry":
            found = self.generation
            return Answer(state_bytes=found.state_bytes, parameters=found.parameters)
        timer = StepTimer(self.steps[command.step], self.before.get(command.step))
        if command.do == "turn":
            return Answer(timings=timer.take_turn(command.seconds, self.product_seconds))
        if command.step not in self.warm:
            timer.seconds()
            self.warm.add(command.step)
        return self.weigh(command.step) if command.do == "weigh" else Answer()

    def weigh(self, name: StepName) -> Answer:
        """Find the peak memory of a step after the first, which makes the optimiser's state."""
        step = self.steps[name]
        resident = peak_resident_bytes()  # before the profiler adds to it
        standing = total_bytes(self.work.standing_tensors(training=name == "train"))
        return Answer(
            live_bytes=standing + allocations(step).peak_bytes,
            resident_bytes=resident,
        )


@dataclass(frozen=True)
class StepTimer:
    """Runs a step, each time after what must be done `before` it and is not timed."""

    step: Step
    before: Step | None = None

    def seconds(self) -> float:
        """Run the step once."""
        if self.before:
            self.before()
        finish()
        start = time.perf_counter()
        self.step()
        finish()
        return time.perf_counter() - start

    def median_seconds(self, seconds: float) -> float:
        """Run steps for some seconds, at least one, and return the median time."""
        taken: list[float] = []
        while not taken or sum(taken) < seconds:
            taken.append(self.seconds())
        return statistics.median(taken)

    def take_turn(self, seconds: float, product_seconds: Callable[[], float]) -> tuple[Timing, ...]:
        """Run steps for some seconds, at least `TIMINGS_PER_TURN`, between matrix products.

        The first step is not timed: it has to allocate memory, and the caches are cold.
        """
        self.seconds()
        timings = []
        before = product_seconds()
        for _ in range(TIMINGS_PER_TURN):
            start, waited = time.perf_counter(), -seconds_waited_for_a_core()
            taken = self.median_seconds(seconds / TIMINGS_PER_TURN)
            after = product_seconds()
            waited = (waited + seconds_waited_for_a_core()) / (time.perf_counter() - start)
            pace = (before + after) / 2
            timings.append(Timing(seconds=taken, product_seconds=pace, waited=waited))
            before = after
        return tuple(timings)


def error_answer(error: Exception) -> Answer:
    """Turn an error into an answer; what a mixer of the user's own raised is its failure."""
    if isinstance(error, MixerError):
        if not isinstance(error.__cause__, Exception):
            return Answer(status="failed", reason=str(error))
        error = error.__cause__
    reason = (str(error).strip() or type(error).__name__).splitlines()[0]
    if isinstance(error, UserError):
        return Answer(status="refused", reason=reason)
    if isinstance(error, MemoryError) or any(m in str(error) for m in MESSAGES_OF_FULL_MEMORY):
        return Answer(status="out of memory", reason=reason)
    return Answer(status="failed", reason=f"{type(error).__name__}: {reason}")

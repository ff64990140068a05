"""A worker: one process that holds one model at one length and steps when it is told to.

It reads an `Order`, then a `Command` per line, and answers each with one line:

    {"do": "turn", "step": "train", "seconds": 0.4}   ->  {"seconds": 0.0123, "waited": 0.01}
    {"do": "weigh", "step": "train"}                  ->  {"live_bytes": ..., "resident_bytes": ...}
    {"do": "count"}                                   ->  {"cost": {...}}

Whatever goes wrong is an answer too. Between two commands a worker holds no memory but its model,
so that workers that take turns each have the whole machine. When the other end of the pipe is
closed, which the system does even for a killed process, the worker ends at once, also in the
middle of a step.
"""

import os
import statistics
import sys
import threading
import time
from collections.abc import Iterator
from queue import SimpleQueue
from typing import IO

import torch

from longarena.errors import UserError
from longarena.measure.cost import count_cost
from longarena.measure.limits import machine_steps
from longarena.measure.memory import (
    allocations,
    limit_memory,
    release_free_memory,
    total_bytes,
)
from longarena.measure.messages import Answer, Command, Order
from longarena.measure.speed import Turn
from longarena.measure.work import Step, byte_card, prepare
from longarena.runtime import peak_resident_bytes, seconds_waited_for_a_core, set_up

# the last is a library that finds no room to be loaded
MESSAGES_OF_FULL_MEMORY = (
    "can't allocate memory",
    "not enough memory",
    "out of memory",
    "failed to map segment",
)


def main() -> None:
    """Serve the commands that come in on standard input."""
    # whatever a mixer prints must not end up among the answers
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
            answer = excuse(error)
        release_free_memory()
        yield answer


class Bench:
    """The steps of an order, and what can be done with them."""

    def __init__(self, order: Order) -> None:
        if order.model is None:
            self.steps = machine_steps()
        else:
            self.work = prepare(order.model, byte_card(order.length), order.batch_size)
            self.steps = {"train": self.work.train, "predict": self.work.predict}

    def carry_out(self, command: Command) -> Answer:
        """Do what a command says."""
        if command.do == "turn":
            turn = take_turn(self.steps[command.step], command.seconds)
            return Answer(seconds=turn.seconds, waited=turn.waited)
        if command.do == "weigh":
            return self.weigh(command.step)
        return Answer(cost=count_cost(self.work))

    def weigh(self, name: str) -> Answer:
        """Find the peak memory of a step."""
        step = self.steps[name]
        step()
        resident = peak_resident_bytes()  # now, before the profiler adds to it
        standing = total_bytes(self.work.standing_tensors(training=name == "train"))
        return Answer(
            live_bytes=standing + allocations(step).peak_bytes,
            resident_bytes=resident,
        )


def take_turn(step: Step, seconds: float) -> Turn:
    """Step for some seconds, once at least; a step's time is the median.

    The first step is not timed: the caches are full of someone else's numbers by now.
    """
    step()
    taken: list[float] = []
    waited = -seconds_waited_for_a_core()
    while not taken or sum(taken) < seconds:
        _finish()
        start = time.perf_counter()
        step()
        _finish()
        taken.append(time.perf_counter() - start)
    waited += seconds_waited_for_a_core()
    return Turn(statistics.median(taken), waited / sum(taken))


def _finish() -> None:
    """Wait for a GPU to do what it was told."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def excuse(error: Exception) -> Answer:
    """Put an error into the words of an answer."""
    reason = (str(error).strip() or type(error).__name__).splitlines()[0]
    if isinstance(error, UserError):
        return Answer(status="refused", reason=reason)
    if isinstance(error, MemoryError) or any(m in str(error) for m in MESSAGES_OF_FULL_MEMORY):
        return Answer(status="out of memory", reason=reason)
    return Answer(status="failed", reason=f"{type(error).__name__}: {reason}")

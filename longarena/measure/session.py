"""A session: measure mechanisms side by side at every length, and record them.

All mechanisms of one length take turns (speed.py), each in a process of its own, and so do the
machine's own limits. Their records are written together when the length is done, so a session that
was interrupted goes on with the first length that is missing.

Choice: by default the name of a session is made of the day and of what is compared. The same
        command on the same day goes on where it was; another command never mixes with it.
"""

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from datetime import date
from functools import partial
from pathlib import Path

import torch

from longarena.attention import CARDS
from longarena.attention.build import check_causal
from longarena.data.files import waiting
from longarena.errors import UserError
from longarena.loading import ALL, spread
from longarena.measure.candidate import (
    Candidate,
    GeneratingCandidate,
    Target,
    TrainingCandidate,
    name_mixer,
    read_mixers,
)
from longarena.measure.limits import rates
from longarena.measure.memory import free_memory_bytes
from longarena.measure.messages import Command, Order, StepName
from longarena.measure.process import WorkerProcess, fork_server
from longarena.measure.speed import Participant, StoppingRule, Timing, take_turns
from longarena.measure.work import BATCH_SIZE, SHAPES, Shape
from longarena.model.config import ModelConfig
from longarena.progress import SILENT, Bar, Progress
from longarena.records.folder import plain, read_records, write_record
from longarena.records.record import CostRecord, GenerationRecord, MeasureRecord

LENGTHS = (1024, 2048, 3072, 4096)
CONTEXTS = (256, 1024, 4096, 16_384)
TEXT = SHAPES["text"]
YARDSTICK_SECONDS = 0.1


def measure(  # noqa: PLR0913 - the one call from outside: every argument by its name
    mixers: Sequence[str] = (),
    *,
    store: Path,
    lengths: Sequence[int] = LENGTHS,
    batch_size: int = BATCH_SIZE,
    shape: Shape = TEXT,
    inference: bool = False,
    session: str | None = None,
    stopping_rule: StoppingRule | None = None,
    progress: Progress = SILENT,
) -> list[MeasureRecord]:
    """Measure mechanisms, by default all; what the session has already measured is only read."""
    check_sizes(batch_size, lengths)
    models = read_mixers(mixers, shape)
    steps: tuple[StepName, ...] = ("train", "predict") if inference else ("train",)
    targets = _targets(models, lengths, batch_size, steps, session)
    found = _Run(store, stopping_rule or StoppingRule(), progress).of(targets)
    return [record for record in found if isinstance(record, MeasureRecord)]


def measure_generation(  # noqa: PLR0913 - the one call from outside: every argument by its name
    mixers: Sequence[str] = (),
    *,
    store: Path,
    contexts: Sequence[int] = CONTEXTS,
    batch_size: int = 1,
    shape: Shape = TEXT,
    session: str | None = None,
    stopping_rule: StoppingRule | None = None,
    progress: Progress = SILENT,
) -> list[GenerationRecord]:
    """Measure generation after contexts, by default with all mechanisms that can be causal."""
    check_sizes(batch_size, contexts)
    able = [name for name, card in CARDS.items() if card.causal]
    models = read_mixers(spread(mixers or [ALL], able), shape)
    for model in models:
        check_causal(model.mixer)
    targets = _targets(models, contexts, batch_size, ("read", "generate"), session)
    found = _Run(store, stopping_rule or StoppingRule(), progress).of(targets)
    return [record for record in found if isinstance(record, GenerationRecord)]


def _targets(
    models: Sequence[ModelConfig],
    lengths: Sequence[int],
    batch_size: int,
    steps: tuple[StepName, ...],
    session: str | None,
) -> list[Target]:
    """List what a session measures, length by length."""
    name = session or default_session(models, batch_size, steps)
    return [
        Target(name, model, models[:i].count(model), length, batch_size, steps)
        for length in dict.fromkeys(lengths)
        for i, model in enumerate(models)
    ]


def check_sizes(batch_size: int, lengths: Sequence[int]) -> None:
    """Refuse sizes below 1."""
    if batch_size < 1 or not lengths or min(lengths) < 1:
        raise UserError(f"batch {batch_size}, lengths {list(lengths)}: all must be at least 1")


def default_session(models: Sequence[ModelConfig], batch_size: int, steps: Sequence[str]) -> str:
    """Name a session by the day and by what is compared."""
    compared = f"{[model.model_dump_json() for model in models]} {batch_size} {steps}"
    digest = hashlib.sha256(f"{compared} {torch.get_num_threads()}".encode()).hexdigest()
    return f"{date.today().isoformat()}-{digest[:6]}"


class _Run:
    """Carry out a session; it knows where records go and when to stop."""

    def __init__(self, store: Path, stopping_rule: StoppingRule, progress: Progress) -> None:
        self.store, self.rule, self.progress = store, stopping_rule, progress

    def of(self, targets: Sequence[Target]) -> list[CostRecord]:
        """Return the records of all targets, measuring those that are missing.

        Two processes in one session would measure the same, and each other.
        """
        session = targets[0].session

        def say() -> None:
            self.progress.say(f"waiting for another process that measures session {session}")

        with waiting(self.store / f".{plain(session)}.lock", say):
            return self.complete(targets)

    def complete(self, targets: Sequence[Target]) -> list[CostRecord]:
        """Read what is there of the session, and measure the rest."""
        found = read_records(self.store)
        known: list[CostRecord] = [*found.measurements, *found.generations]
        stored = {record.id: record for record in known}
        missing = [target for target in targets if target.id not in stored]
        done = len(targets) - len(missing)
        if done:
            self.progress.say(
                f"{done} of {len(targets)} measured before in session {targets[0].session}"
                " and left as they are; --session NAME begins a new one"
            )
        if missing:
            for record in self.measure(missing, done):
                stored[record.id] = record
        return [stored[target.id] for target in targets]

    def measure(self, targets: Sequence[Target], done: int) -> Iterator[CostRecord]:
        """Measure length by length; `done` targets were measured before."""
        turns = self.rule.min_turns + 2  # one more to warm up, and one to measure memory
        total = turns * (done + len(targets))
        with (
            self.progress.bar("measuring", total=total, done=turns * done) as bar,
            fork_server() as server,
            WorkerProcess(server, _machine_order(), self.rule.timeout_seconds) as yardstick,
        ):
            for length in dict.fromkeys(target.length for target in targets):
                together = [target for target in targets if target.length == length]
                yield from self.side_by_side(together, yardstick, bar)

    def side_by_side(
        self, targets: Sequence[Target], yardstick: WorkerProcess, bar: Bar
    ) -> list[CostRecord]:
        """Measure everything at one length in turns."""
        memory = free_memory_bytes()
        timeout = self.rule.timeout_seconds
        with ExitStack() as stack:
            candidates = [
                candidate_of(
                    target,
                    stack.enter_context(
                        WorkerProcess(yardstick.fork_server, target.order(memory), timeout)
                    ),
                )
                for target in targets
            ]
            for candidate in candidates:
                candidate.warm_up()
                bar.advance(1, f"{name_mixer(candidate.target.model)} at {targets[0].length}")
            timings, copies = self.time(candidates, yardstick, bar)
            for candidate in candidates:
                candidate.weigh()
                bar.advance(1, f"memory of {name_mixer(candidate.target.model)}")
            limits = rates(timings, copies)
            records = [candidate.record(timings, limits) for candidate in candidates]
        for record in records:
            # a mechanism that failed by its own mistake is tried again next time
            if record.status != "failed":
                write_record(self.store, record)
        return records

    def time(
        self, candidates: list[Candidate], yardstick: WorkerProcess, bar: Bar
    ) -> tuple[list[Timing], list[Timing]]:
        """Let all take turns until they are steady; return their timings and those of copies."""
        copy = Participant(partial(_copy_turn, yardstick), is_yardstick=True)
        participants = [p for c in candidates for p in c.participants(self.rule.turn_seconds)]

        def tell(turns: int, error: float) -> None:
            note = f"turn {turns} at {candidates[0].target.length}, medians to {error:.1%}"
            bar.advance(len(candidates) if turns <= self.rule.min_turns else 0, note)

        take_turns([*participants, copy], self.rule, tell)
        return [timing for p in participants for timing in p.timings], copy.timings


def candidate_of(target: Target, worker: WorkerProcess) -> Candidate:
    """Enter a target with its worker."""
    kind = GeneratingCandidate if target.generates else TrainingCandidate
    return kind(target, worker)


def _copy_turn(worker: WorkerProcess) -> tuple[Timing, ...]:
    return worker.ask(Command(do="turn", step="copy", seconds=YARDSTICK_SECONDS)).timings


def _machine_order() -> Order:
    return Order(
        model=None,
        length=0,
        batch_size=0,
        threads=torch.get_num_threads(),
        memory_limit_bytes=None,
    )

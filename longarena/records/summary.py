"""What tables know of a run: its record without the curve and without long details.

A record of 5 kB takes 20 kB in memory, its summary 1 kB: what runs of one recipe under other seeds
have in common is kept once. A summary has the names of its record, so that a function of runs takes
either; what was left out is read from the file when it is asked for.
"""

import hashlib
import json
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple, TypeGuard

from longarena.errors import UserError
from longarena.options import Value
from longarena.recipes.recipe import Recipe
from longarena.records.parsing import parse_record
from longarena.records.record import (
    Curve,
    Record,
    RunRecord,
    SplitScore,
    StartRecord,
    Status,
    Timed,
)
from longarena.runtime import Machine
from longarena.tracks.metric import Metric

# a detail that takes more as JSON is long, such as a matrix or translations
LONG = 300
# how many recipes, whole records and curves are kept after use
NUM_RECIPES = 4096
NUM_WHOLE = 1024
NUM_CURVES = 20_000


@dataclass(frozen=True, slots=True, eq=False)
class Setting:
    """What runs that differ in their seeds alone have in common; `text` is the recipe as JSON."""

    text: str
    preset: str
    task_name: str
    mixer: str
    metric: Metric
    variant: str
    fingerprint: str
    is_masked: bool

    @property
    def recipe(self) -> Recipe:
        """The recipe with the seed 0."""
        return _read_recipe(self.text)


@lru_cache(NUM_RECIPES)
def _read_recipe(text: str) -> Recipe:
    return Recipe.model_validate_json(text)


class Source(NamedTuple):
    """The file of a record, and the digest of what it held."""

    path: str
    digest: str

    def read(self) -> RunRecord:
        """Read the whole record; refuse a file that has changed since it was summed up."""
        return _read_whole(self)

    def read_curve(self) -> Curve:
        """Read the curve alone, which tables and charts ask for several times."""
        steps, seconds, values = _read_curve(self)
        return Curve.model_construct(
            steps=steps.tolist(), seconds=seconds.tolist(), values=values.tolist()
        )


@lru_cache(NUM_WHOLE)
def _read_whole(source: Source) -> RunRecord:
    content = Path(source.path).read_bytes()
    if digest_of(content) == source.digest:
        record = parse_record(content.decode())
        if isinstance(record, RunRecord):
            return record
    raise UserError(f"{source.path} was changed while it was read; run the same command again")


@lru_cache(NUM_CURVES)
def _read_curve(source: Source) -> "tuple[array[int], array[float], array[float]]":
    curve = source.read().curve
    return array("q", curve.steps), array("d", curve.seconds), array("d", curve.values)


def digest_of(content: bytes) -> str:
    """Return a digest that tells one file from another."""
    return hashlib.blake2b(content, digest_size=16).hexdigest()


class Details(Mapping[str, Value]):
    """What a track added to a run: short details, and the names of those that are in the record."""

    __slots__ = ("_long", "_short", "_source")

    def __init__(self, short: dict[str, Value], long: tuple[str, ...], source: Source) -> None:
        self._short, self._long, self._source = short, long, source

    @property
    def parts(self) -> tuple[dict[str, Value], tuple[str, ...]]:
        """The short details, and the names of the long ones."""
        return self._short, self._long

    def __getitem__(self, name: str) -> Value:
        if name in self._long:
            return self._source.read().metrics.details[name]
        return self._short[name]

    def __iter__(self) -> Iterator[str]:
        yield from (*self._short, *self._long)

    def __len__(self) -> int:
        return len(self._short) + len(self._long)


class SplitNumbers(NamedTuple):
    """How a model does on one split, as in `SplitScore`."""

    value: float
    error: float
    loss: float
    weight: float
    examples: int


class Numbers(NamedTuple):
    """The numbers of a run that tables show, as in `RunMetrics`."""

    valid: SplitNumbers | None
    test: SplitNumbers | None
    level: float
    details: Details
    steps: int
    steps_per_second: float
    tokens_per_second: float
    parameters: int
    train_seconds: float


@dataclass(frozen=True, slots=True, eq=False)
class RunSummary(Timed):
    """A run that has ended; `is_mislabelled` says that its id is not that of its recipe."""

    source: Source
    id: str
    seed: int
    setting: Setting
    status: Status
    metrics: Numbers
    answers: str | None
    start: StartRecord | None
    machine: Machine
    finished_at: str
    is_mislabelled: bool

    @property
    def recipe(self) -> Recipe:
        """The recipe, made anew: a loop over all runs asks for single names instead."""
        return self.setting.recipe.model_copy(update={"seed": self.seed})

    @property
    def curve(self) -> Curve:
        """The validation scores, read from the record."""
        return self.source.read_curve()

    @property
    def preset(self) -> str:
        """The preset of its recipe."""
        return self.setting.preset

    @property
    def task_name(self) -> str:
        """The task of its recipe."""
        return self.setting.task_name

    @property
    def mixer(self) -> str:
        """The mechanism of its recipe."""
        return self.setting.mixer

    @property
    def is_masked(self) -> bool:
        """Whether it fills in hidden tokens."""
        return self.setting.is_masked

    @property
    def metric(self) -> Metric:
        """What it was scored by."""
        return self.setting.metric

    @property
    def variant(self) -> str:
        """The variant of its data."""
        return self.setting.variant

    @property
    def fingerprint(self) -> str:
        """The fingerprint of its data."""
        return self.setting.fingerprint


Run = RunRecord | RunSummary
AnyRecord = Record | RunSummary


def is_run(found: object) -> TypeGuard[Run]:
    """Tell runs from other records."""
    return isinstance(found, RunRecord | RunSummary)


def whole(run: Run) -> RunRecord:
    """Return the whole record of a run."""
    return run.source.read() if isinstance(run, RunSummary) else run


def any_seed(run: Run) -> Recipe:
    """Return the recipe of a run where its seed is of no account, which is faster."""
    return run.setting.recipe if isinstance(run, RunSummary) else run.recipe


def seedless(run: Run) -> str:
    """Return what runs that differ in their seeds alone have in common: the rest of the recipe."""
    return run.setting.text if isinstance(run, RunSummary) else recipe_text(run.recipe)


def recipe_text(recipe: Recipe) -> str:
    """Write a recipe without its seed, in as few words as give it back."""
    return recipe.model_copy(update={"seed": 0}).model_dump_json(exclude_defaults=True)


def split_numbers(score: SplitScore) -> SplitNumbers:
    """Take the numbers of one split."""
    return SplitNumbers(score.value, score.error, score.loss, score.weight, score.examples)


def is_long(detail: Value) -> bool:
    """Tell whether a detail is left to the record.

    >>> is_long(512), is_long([[0] * 10] * 10)
    (False, True)
    """
    return isinstance(detail, list | dict | str) and len(json.dumps(detail)) > LONG

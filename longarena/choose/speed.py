"""What the mechanisms take on this machine, at the length of the data itself.

The length is the one that 95 of 100 training examples do not exceed. The first look is short: a few
steps each, some mechanisms at a time, and no more once its share of the time is used up. In the
end the finalists are measured again side by side, until their numbers are steady.

Choice: a prediction is taken to cost 0.4 of a training step, which the budget needs for
        validations and tests; it is about a third for most.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from longarena.choose.budget import Price
from longarena.choose.question import Field
from longarena.data.dataset import Dataset
from longarena.measure import Shape, StoppingRule, measure
from longarena.measure.budget import write_amount
from longarena.measure.candidate import name_mixer
from longarena.progress import SILENT, Progress
from longarena.recipes.recipe import Recipe, build_task
from longarena.records.folder import read_records, record_path
from longarena.records.record import MeasureRecord
from longarena.tasks.base import default_home
from longarena.tasks.prepare import obtain
from longarena.tracks import track_of

SHARE_OF_EXAMPLES = 0.95
TOGETHER = 8
PREDICTION = 0.4


@dataclass(frozen=True)
class Data:
    """What the measuring and the budget must know about the data."""

    length: int
    valid_examples: int
    test_examples: int
    num_sequences: int
    fingerprint: str


def look_at(recipe: Recipe, progress: Progress = SILENT) -> Data:
    """Prepare the data of a recipe, and find its length and its sizes."""
    task = build_task(recipe)
    data, signature = obtain(task, default_home(), progress), task.signature
    track = track_of(signature)

    def examples(name: str) -> int:
        return len(track.examples(data.split(name), signature))

    return Data(
        length=min(_length(data, track.is_causal, signature.max_length), signature.max_length),
        valid_examples=min(examples("valid"), recipe.validate_on or examples("valid")),
        test_examples=examples("test"),
        num_sequences=signature.num_sequences,
        fingerprint=data.fingerprint,
    )


def _length(data: Dataset, is_stream: bool, longest: int) -> int:
    """Return the length that most examples do not exceed; that of a window for a text."""
    lengths = data.split("train").lengths
    if is_stream or not len(lengths):
        return longest
    return int(np.quantile(lengths, SHARE_OF_EXAMPLES, method="higher"))


@dataclass(frozen=True)
class Ruler:
    """Measures mechanisms in the shape, batch and length of a contest."""

    session: str
    store: Path
    data: Data
    progress: Progress = SILENT

    def quickly(self, recipes: Mapping[str, Recipe], seconds: float) -> dict[str, MeasureRecord]:
        """Measure as many as the seconds allow, a few at a time."""
        found = self._known(recipes)
        names, start = [name for name in recipes if name not in found], time.monotonic()
        rule = StoppingRule(
            turn_seconds=0.1,
            min_turns=1,
            max_turns=2,
            steady_below=0.1,
            # on a busy machine a process alone may take half a minute to start
            timeout_seconds=max(60.0, seconds),
        )
        for at in range(0, len(names), TOGETHER):
            if at and time.monotonic() - start > seconds:
                break
            some = {name: recipes[name] for name in names[at : at + TOGETHER]}
            found |= self._measure(some, self.session, rule)
        return found

    def _known(self, recipes: Mapping[str, Recipe]) -> dict[str, MeasureRecord]:
        """Read what was measured before a stop; what ran out of time is tried anew."""
        known: dict[str, MeasureRecord] = {}
        for record in read_records(self.store).measurements:
            if record.session != self.session:
                continue
            if record.status == "timed out":
                record_path(self.store, record).unlink()
            else:
                known[name_mixer(record.model)] = record
        names = {name: name_mixer(recipe.model) for name, recipe in recipes.items()}
        return {name: known[mixer] for name, mixer in names.items() if mixer in known}

    def side_by_side(self, recipes: Mapping[str, Recipe]) -> dict[str, MeasureRecord]:
        """Measure a few against each other until their numbers are steady."""
        rule = StoppingRule(turn_seconds=0.2, min_turns=3, max_turns=12, max_seconds_each=4.0)
        return self._measure(recipes, f"{self.session}-final", rule)

    def _measure(
        self, recipes: Mapping[str, Recipe], session: str, rule: StoppingRule
    ) -> dict[str, MeasureRecord]:
        some = next(iter(recipes.values()))
        records = measure(
            [name_mixer(recipe.model) for recipe in recipes.values()],
            store=self.store,
            lengths=(self.data.length,),
            batch_size=some.batch_size,
            shape=shape_of(some),
            session=session,
            stopping_rule=rule,
            progress=self.progress,
        )
        return dict(zip(recipes, records, strict=True))


def shape_of(recipe: Recipe) -> Shape:
    """Return the sizes of a recipe's model, whatever its mixer."""
    return Shape(**{name: getattr(recipe.model, name) for name in Shape.model_fields})


def prices(found: Field, measured: Mapping[str, MeasureRecord], data: Data) -> dict[str, Price]:
    """Turn what was measured into what a contest takes; who could not be measured has no price."""
    batch_size = found.any_recipe.batch_size
    valid, test = (-(-n // batch_size) for n in (data.valid_examples, data.test_examples))
    steps = {
        name: data.num_sequences / record.metrics.steps_per_second
        for name, record in measured.items()
        if record.metrics
    }
    return {
        name: Price(step=step, validation=PREDICTION * valid * step, test=PREDICTION * test * step)
        for name, step in steps.items()
    }


def unfit(
    names: Sequence[str], measured: Mapping[str, MeasureRecord], max_bytes: float | None
) -> Iterator[tuple[str, str]]:
    """Tell who cannot take part after the first look, and why."""
    for name in names:
        record = measured.get(name)
        if record is None:
            yield name, "there was no time to measure it; give more --minutes"
        elif record.metrics is None:
            yield name, f"{record.status}: {record.reason}"
        elif max_bytes is not None and record.metrics.peak_live_bytes > max_bytes:
            peak = write_amount(record.metrics.peak_live_bytes)
            most = write_amount(max_bytes)
            yield name, f"takes {peak} bytes at {record.length:,} tokens, above --max-memory {most}"

"""Records made by hand, for every test of tables, charts and pages."""

import math

from longarena.model.config import ModelConfig
from longarena.recipes.presets import preset
from longarena.recipes.recipe import override
from longarena.records.record import (
    Curve,
    Measurement,
    MeasureRecord,
    RunMetrics,
    RunRecord,
    SplitScore,
    StartRecord,
)
from longarena.runtime import Machine, Versions
from longarena.tracks.metric import ACCURACY, Metric

MACHINE = Machine(
    system="Linux x86_64",
    processor="Example Processor 9000",
    cores=2,
    threads=2,
    memory_bytes=16 * 2**30,
    accelerator=None,
)
VERSIONS = Versions(longarena="0.1.0", python="3.11.2", torch="2.13.0", commit="0123456789ab")
MODEL = preset("listops", "transformer").model


def run_record(mixer="transformer", seed=0, accuracy=0.34, sets=(), **fields):
    """One run of the quick preset; `accuracy=None` is a run that diverged."""
    # a stand-in derives the recipe, so that mixers which exist nowhere can be named
    recipe = override(preset("listops", "transformer", "quick", seed), sets)
    recipe = recipe.model_copy(
        update={"model": recipe.model.model_copy(update={"mixer": mixer})}
        | {key: fields.pop(key) for key in ("preset", "task") if key in fields}
    )
    score = split_score(accuracy, 1.8) if accuracy else None
    metrics = RunMetrics(
        valid=score,
        test=score,
        level=0.17,
        best_step=recipe.steps,
        steps=recipe.steps,
        steps_per_second=41.5,
        tokens_per_second=190_000.0,
        peak_resident_bytes=700_000_000,
        parameters=fields.pop("parameters", 80_000),
        padding_share=0.02,
        train_seconds=48.2,
    )
    values = {
        "id": recipe.id,
        "recipe": recipe,
        "metric": ACCURACY,
        "variant": "max_depth=6,max_length=256,min_length=32",
        "fingerprint": "f" * 16,
        "status": "finished" if accuracy else "diverged",
        "metrics": metrics,
        "curve": curve(recipe, accuracy),
        "machine": MACHINE,
        "versions": VERSIONS,
        "finished_at": "2025-11-03T10:00:00+00:00",
    }
    return RunRecord(**values | fields)


START = StartRecord(
    run="0123456789",
    steps=400,
    train_seconds=100.0,
    metric=Metric(
        name="recovered", title="Hidden tokens recovered", unit="%", better="more", scale=100
    ),
    status="finished",
    value=0.5,
    level=0.25,
)


def split_score(accuracy, loss=1.2, examples=2000):
    """An accuracy on some examples, with its standard error."""
    error = math.sqrt(accuracy * (1 - accuracy) / examples)
    return SplitScore(value=accuracy, error=error, loss=loss, weight=examples, examples=examples)


def curve(recipe, accuracy):
    """Validation accuracies that rise from the majority class to `accuracy`."""
    steps = list(range(recipe.evaluate_every, recipe.steps + 1, recipe.evaluate_every))
    rise = (accuracy or 0.17) - 0.17
    return Curve(
        steps=steps,
        seconds=[step / 41.5 for step in steps],
        values=[0.17 + rise * (step / recipe.steps) ** 0.5 for step in steps],
    )


def measure_record(mixer="transformer", length=1024, speed=4.0, peak=2**28, **fields):
    """One measurement; `speed=None` is one that ran out of memory."""
    metrics = Measurement(
        steps_per_second=speed or 1.0,
        seconds_per_step=[1 / (speed or 1.0)],
        tokens_per_second=8 * length * (speed or 1.0),
        peak_live_bytes=peak,
        peak_resident_bytes=2 * peak,
        parameters=80_000,
    )
    values = {
        "id": f"{mixer}-{length}-{fields.get('session', 's1')}-{fields.get('repeat', 0)}",
        "session": "s1",
        "model": ModelConfig(**MODEL.model_dump() | {"mixer": mixer}),
        "length": length,
        "batch_size": 8,
        "status": "measured" if speed else "out of memory",
        "metrics": metrics if speed else None,
        "machine": MACHINE,
        "versions": VERSIONS,
        "finished_at": "2025-11-03T11:00:00+00:00",
    }
    return MeasureRecord(**values | fields)

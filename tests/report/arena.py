"""A whole arena of plausible records: every mechanism, several presets, seeds that go wrong.

`python -m report.arena FOLDER` (from tests/) writes it as a store, to look at its page.
"""

import hashlib
import sys
from functools import cache
from pathlib import Path

from report.examples import MACHINE, VERSIONS, measure_record, split_score

from longarena.attention import MIXERS
from longarena.recipes.presets import preset
from longarena.recipes.recipe import build_task, override
from longarena.records.folder import Records, write_record
from longarena.records.record import (
    Cost,
    Curve,
    FailureRecord,
    Limits,
    RunMetrics,
    RunRecord,
    SpanRecord,
)
from longarena.tracks.metric import ACCURACY

MAJORITY = {"listops": 0.175, "image": 0.1}
TOP = {"listops": 0.37, "text": 0.65, "retrieval": 0.79, "image": 0.42, "pathfinder": 0.74}
TASKS = (*TOP, "path-x")
LENGTHS = (1024, 2048, 3072, 4096)
# parameters beside the Transformer's: those of a length-sized matrix grow with the task
HEAVY = {"linformer": 1.06, "synthesizer": 1.31, "longformer": 1.09}


def noise(*words):
    """A number between 0 and 1 that depends on the words alone."""
    digest = hashlib.sha256(" ".join(map(str, words)).encode()).digest()
    return int.from_bytes(digest[:4], "big") / 2**32


def run(task, mixer, seed, name="small", *, sets=(), status="finished"):
    """One run with a plausible score."""
    recipe = override(preset(task, mixer, name, seed), sets)
    majority = MAJORITY.get(task, 0.5)
    skill = 0.35 + 0.65 * noise(task, mixer) + 0.04 * noise(task, mixer, seed, name)
    accuracy = majority + (TOP.get(task, majority) - majority) * (
        0 if status != "finished" else skill
    )
    return RunRecord(
        id=recipe.id,
        recipe=recipe,
        metric=ACCURACY,
        variant=build_task(recipe).variant,
        fingerprint=hashlib.sha256(f"{task}{build_task(recipe).variant}".encode()).hexdigest()[:16],
        status=status,
        metrics=metrics(recipe, None if status == "diverged" else accuracy, majority),
        curve=curve(recipe, accuracy, majority),
        machine=MACHINE,
        versions=VERSIONS,
        finished_at=f"2026-11-{1 + seed:02}T10:00:00+00:00",
    )


def metrics(recipe, accuracy, majority):
    """The numbers around an accuracy."""
    score = split_score(accuracy) if accuracy else None
    classes = 10 if majority < 0.2 else 2
    mixer, task = recipe.model.mixer, recipe.task.name
    return RunMetrics(
        valid=score,
        test=score,
        details={"confusion": confusion(accuracy, classes)} if accuracy else {},
        level=majority,
        best_step=recipe.steps,
        steps=recipe.steps,
        steps_per_second=5 + 40 * noise(mixer, "speed"),
        tokens_per_second=9e4 + 2e5 * noise(mixer, "speed"),
        peak_resident_bytes=700_000_000,
        parameters=int(130_000 * HEAVY.get(mixer, 1) * (1.1 if task == "text" else 1)),
        padding_share=0.02,
        train_seconds=recipe.steps / 8,
    )


def confusion(accuracy, num_classes):
    """Two thousand answers of which a share of `accuracy` is right."""
    total = 2000 // num_classes
    right = round(accuracy * total)
    wrong = (total - right) // (num_classes - 1)
    return [
        [total - wrong * (num_classes - 1) if i == j else wrong for j in range(num_classes)]
        for i in range(num_classes)
    ]


def curve(recipe, accuracy, majority):
    """A rise that slows down, with some noise on it."""
    count = min(20, recipe.steps // recipe.evaluate_every)
    steps = [recipe.steps * (i + 1) // count for i in range(count)]
    rise = accuracy - majority
    values = [
        majority + rise * (1 - 0.05 ** (s / recipe.steps)) + 0.01 * (noise(recipe.id, s) - 0.5)
        for s in steps
    ]
    return Curve(steps=steps, seconds=[s / 8 for s in steps], values=values)


def failure(task, mixer, seed, error):
    """A run that ended in an error."""
    recipe = preset(task, mixer, "small", seed)
    return FailureRecord(
        id=recipe.id,
        recipe=recipe,
        variant="",
        error=error,
        machine=MACHINE,
        versions=VERSIONS,
        finished_at="2026-11-09T10:00:00+00:00",
    )


def measurement(mixer, length):
    """A measurement that grows as the mechanism claims."""
    power = MIXERS[mixer].card.exponent + (0.4 if mixer == "reformer" else 0)
    seconds = 0.05 * (0.6 + noise(mixer, "time")) * (length / 1024) ** power
    peak = 2**27 * (0.7 + noise(mixer, "memory")) * (length / 1024) ** min(power, 1.8)
    attention = 400_000 * (length / 1024) ** (power - 1)
    cost = Cost(
        parameters=590_000,
        attention=attention,
        convolution=90_000 if mixer == "lite-transformer" else 0,
        feed_forward=2_100_000,
        head_and_embedding=65_000,
        training_step=3 * (attention + 2_165_000),
        activation_bytes=int(0.7 * peak),
    )
    record = measure_record(mixer, length, 1 / seconds, int(peak))
    limits = Limits(flops_per_second=1.1e11 * 60, copy_bytes_per_second=2.1e10)
    inference = record.metrics.model_copy(update={"steps_per_second": 2.8 / seconds})
    if mixer == "synthesizer" and length == 4096:
        gone = {"metrics": None, "status": "out of memory", "reason": "out of memory"}
        return record.model_copy(update=gone)
    return record.model_copy(update={"cost": cost, "limits": limits, "inference": inference})


def span(task, mixer):
    """How far a model of the small preset looks."""
    recipe = preset(task, mixer, "small")
    return SpanRecord(
        id=f"{recipe.id}-span",
        recipe=recipe,
        variant="",
        fingerprint="f" * 16,
        samples=1000,
        mean_length=1060.0,
        mean_span=80 + 300 * noise(task, mixer, "span"),
        spans=[[100.0, 200.0], [150.0, 250.0]],
        machine=MACHINE,
        versions=VERSIONS,
        finished_at="2026-11-09T10:00:00+00:00",
    )


@cache
def arena():
    """Three seeds of everything under `small`, a few others under `quick` and with changes."""
    chosen = [name for name in MIXERS if name != "set-transformer"]
    runs = [run(task, name, seed) for task in TOP for name in chosen for seed in range(3)]
    runs += [run("path-x", name, 0) for name in chosen[:8]]
    runs += [
        run("pathfinder", "local", 3, status="collapsed"),
        run("text", "performer", 3, status="diverged"),
    ]
    runs += [run("listops", name, seed, "quick") for name in chosen[:6] for seed in range(2)]
    runs += [run("pathfinder", name, 0, "quick") for name in chosen[:3]]
    runs += [run("listops", name, 0, sets=["task.max_length=1000"]) for name in chosen[:3]]
    runs += [run("listops", "linear", 0, sets=["model.depth=4", "steps=9000"])]
    runs += [run("image", "local", 0, sets=["model.block=32"])]
    return Records(
        runs=runs,
        measurements=[measurement(name, length) for name in MIXERS for length in LENGTHS],
        spans=[span(task, name) for task in TOP for name in ("transformer", "linear")],
        failures=[failure("retrieval", "set-transformer", 0, "no room for 40.0 GiB on the device")],
        unreadable={Path("runs/records/listops/broken.json"): "Invalid JSON: EOF while parsing"},
    )


if __name__ == "__main__":
    found = arena()
    for record in (*found.runs, *found.measurements, *found.spans, *found.failures):
        write_record(Path(sys.argv[1]), record)

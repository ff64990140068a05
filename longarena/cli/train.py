"""longarena train: bring a run to its end."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from longarena.cli.card import warning_lines
from longarena.cli.columns import Label, Text, with_columns
from longarena.cli.output import (
    RUNS,
    Again,
    AsJson,
    Assignments,
    Output,
    Pretrain,
    Quiet,
    Runs,
    StoreFolder,
    Threads,
    unusual,
    words,
)
from longarena.cli.stopping import when_stopped

if TYPE_CHECKING:
    from longarena.recipes.recipe import Recipe
    from longarena.records.record import RunRecord

NUM_TRIALS = 3


@when_stopped("nothing was trained")
def train(
    task: Annotated[
        str, typer.Argument(help="A task (`longarena list tasks`), or the path of your own data.")
    ],
    mixer: Annotated[str, typer.Argument(help="A mixer, or your own as module:Class.")],
    preset: Annotated[str, typer.Option(help="The preset to start from.")] = "quick",
    seed: Annotated[int, typer.Option(min=0, help="The seed of everything random.")] = 0,
    steps: Annotated[int | None, typer.Option(min=1, help="Train this many steps instead.")] = None,
    pretrain: Pretrain = None,
    devices: Annotated[int, typer.Option(min=1, help="How many processes share the run.")] = 1,
    precision: Annotated[str | None, typer.Option(help="One of 32, bf16-mixed, 16-mixed.")] = None,
    compile: Annotated[bool, typer.Option("--compile", help="Compile the model first.")] = False,
    log: Annotated[
        Literal["tensorboard"] | None, typer.Option(help="Also write TensorBoard events.")
    ] = None,
    max_mult_adds: Annotated[
        str | None,
        typer.Option(
            help="Refuse a model that takes more to predict one example: 500M, 1.5G, 2e9."
        ),
    ] = None,
    text: Text = None,
    label: Label = None,
    again: Again = False,
    assignments: Assignments = None,
    runs: Runs = RUNS,
    store: StoreFolder = None,
    threads: Threads = None,
    quiet: Quiet = False,
    json: AsJson = False,
) -> None:
    """Train a mixer on a task; a run that was stopped goes on where it was."""
    from longarena.recipes.presets import preset as preset_recipe
    from longarena.recipes.presets.outside import options_of
    from longarena.recipes.pretraining import apart, pretrained
    from longarena.recipes.recipe import override
    from longarena.runtime import set_up

    sets = with_columns(assignments, text, label)
    recipe = preset_recipe(task, mixer, preset, seed, options_of(task, sets))
    changes = [f"steps={steps}"] if steps else []
    changes += [f'precision="{precision}"'] if precision else []
    changes += ["compile=true"] if compile else []
    first, of_pretraining = apart(sets)
    recipe = override(recipe, [*changes, *first])
    recipe = override(pretrained(recipe, pretrain) if pretrain else recipe, of_pretraining)
    check_recipe(recipe)
    warn(recipe)
    set_up(threads)
    if max_mult_adds is not None:
        from longarena.measure.budget import check_budget, read_amount

        check_budget(recipe, read_amount(max_mult_adds))
    bring(
        recipe,
        Output(quiet, json),
        runs=runs,
        store=store,
        devices=devices,
        tensorboard=log == "tensorboard",
        again=again,
    )


def bring(
    recipe: "Recipe",
    out: Output,
    *,
    runs: Path,
    store: Path | None,
    devices: int = 1,
    tensorboard: bool = False,
    again: bool = False,
) -> None:
    """Bring a run to its end, and print what it found."""
    from longarena.training.devices import is_first_process
    from longarena.training.folder import RunFolder
    from longarena.training.loop import train as train_recipe

    folder = RunFolder.of(runs, recipe)
    old = None if again else folder.read_record()
    with when_stopped(f"what was saved is in {folder.path}; the same command goes on from there"):
        record = train_recipe(
            recipe,
            runs,
            store=store,
            devices=devices,
            tensorboard=tensorboard,
            again=again,
            progress=out.progress,
        )
    if not is_first_process():
        return
    out.result(record.model_dump(mode="json"))
    out.say(*describe(record), f"  written to {folder.path}")
    if old is not None:
        out.say(f"  this is the result of {old.finished_at}; --again trains anew")
    if record.is_at_chance or record.status == "diverged":
        out.say(*trials(record, NUM_TRIALS))
    out.next(*_next(record, runs, store))


def check_recipe(recipe: "Recipe") -> None:
    """Refuse a model that does not fit into this machine, before anything is built."""
    from longarena.model.size import check_size
    from longarena.recipes.recipe import build_task

    signature = build_task(recipe).signature
    check_size(recipe.model, signature.vocab_size, signature.max_length)


def warn(recipe: "Recipe") -> None:
    """Say on standard error what may make scores on a user's own data worthless."""
    from longarena.recipes.recipe import build_task

    lines = warning_lines(build_task(recipe))
    sys.stderr.write("".join(f"longarena: {line}\n" for line in lines))


def describe(record: "RunRecord") -> list[str]:
    """Say in two lines what a run found; in others, what its track states and how it began."""
    recipe, metrics, write = record.recipe, record.metrics, record.metric.write_with_unit
    name = f"{recipe.task.name} {recipe.model.mixer} seed {recipe.seed} ({record.id})"
    if metrics.test is None or metrics.valid is None:
        return [f"{name}: {record.outcome} at step {metrics.steps}"]
    part = f" on {metrics.valid.examples:,} examples" if recipe.validate_on else ""
    return [
        f"{name}: {record.outcome} "
        f"(without a model {write(metrics.level)}, validation {write(metrics.valid.value)}{part})",
        f"  {metrics.steps_per_second:.2f} steps/s, {metrics.tokens_per_second:,.0f} tokens/s, "
        f"{metrics.parameters:,} parameters, {metrics.padding_share:.1%} padding",
        *_details(record),
        *_start(record),
    ]


def _details(record: "RunRecord") -> list[str]:
    """Say how a score was obtained, and what others reach on the same data."""
    from longarena.findings.details import conditions, other_levels, scoring

    write = record.metric.write_with_unit
    others = [f"{name} {write(level)}" for name, level in other_levels(record).items()]
    stated = [*conditions(record), *others, *scoring(record)]
    return [f"  {', '.join(stated)}"] if stated else []


def _start(record: "RunRecord") -> list[str]:
    """Say what came before a run, and what it cost."""
    from longarena.progress import duration

    if record.start is None:
        return []
    parts = (record.start_seconds, record.metrics.train_seconds)
    first, then = map(duration, parts)
    return [f"  begun with {record.start.words}, {first} and then {then} of training"]


def trials(record: "RunRecord", most: int | None = None) -> list[str]:
    """Say what to try after a run; every line ends with what to type."""
    from longarena.findings.advice import advise

    found = [f"    {each.why}: {each.words}" for each in advise(record)[:most]]
    return ["  what to try (add it to the command, or run it):", *found] if found else []


def _next(record: "RunRecord", runs: Path, store: Path | None) -> list[str]:
    """Suggest what to do with a run; one that diverged is tried again as advised."""
    from longarena.findings.advice import advise
    from longarena.findings.changes import command
    from longarena.recipes.recipe import override

    named = unusual(runs)
    if record.metrics.test is None:
        again = command(override(record.recipe, advise(record)[0].sets))
        return [words(again, runs=named, store=store)] if again else []
    return [
        words(f"longarena evaluate {record.id}", runs=named),
        words("longarena report", runs=named, store=store),
    ]

"""longarena train and evaluate: bring a run to its end, and look at it again."""

from typing import Annotated, Literal

import typer

from longarena.cli.output import (
    RUNS,
    AsJson,
    Assignments,
    Output,
    Quiet,
    Runs,
    StoreFolder,
    Threads,
)
from longarena.measure.budget import check_budget, read_amount
from longarena.recipes.presets import preset as preset_recipe
from longarena.recipes.recipe import Recipe, override
from longarena.runtime import set_up
from longarena.store.record import RunRecord
from longarena.training.devices import is_first_process
from longarena.training.folder import RunFolder, find_run
from longarena.training.loop import evaluate_run
from longarena.training.loop import train as train_recipe


def train(
    task: Annotated[str, typer.Argument(help="A task: see `longarena list tasks`.")],
    mixer: Annotated[str, typer.Argument(help="A mixer, or your own as module:Class.")],
    preset: Annotated[str, typer.Option(help="The recipe to start from.")] = "quick",
    seed: Annotated[int, typer.Option(min=0, help="The seed of everything random.")] = 0,
    steps: Annotated[int | None, typer.Option(min=1, help="Train this many steps.")] = None,
    devices: Annotated[int, typer.Option(min=1, help="Processes that share the run.")] = 1,
    precision: Annotated[str | None, typer.Option(help="32, bf16-mixed or 16-mixed.")] = None,
    compile: Annotated[bool, typer.Option("--compile", help="Compile the model first.")] = False,
    log: Annotated[
        Literal["tensorboard"] | None, typer.Option(help="Write TensorBoard events too.")
    ] = None,
    max_mult_adds: Annotated[
        str | None,
        typer.Option(help="Refuse if one example takes more to predict: 500M, 1.5G, 2e9."),
    ] = None,
    assignments: Assignments = None,
    runs: Runs = RUNS,
    store: StoreFolder = None,
    threads: Threads = None,
    quiet: Quiet = False,
    json: AsJson = False,
) -> None:
    """Train a mixer on a task; resumes by itself if the run was stopped."""
    recipe = preset_recipe(task, mixer, preset, seed)
    changes = [f"steps={steps}"] if steps else []
    changes += [f'precision="{precision}"'] if precision else []
    changes += ["compile=true"] if compile else []
    recipe = override(recipe, [*changes, *(assignments or [])])
    set_up(threads)
    if max_mult_adds is not None:
        check_budget(recipe, read_amount(max_mult_adds))
    out = Output(quiet, json)
    record = train_recipe(
        recipe,
        runs,
        store=store,
        devices=devices,
        tensorboard=log == "tensorboard",
        progress=out.progress,
    )
    if not is_first_process():
        return
    out.result(record.model_dump(mode="json"))
    out.say(*describe(record), *_next(recipe, RunFolder.of(runs, recipe)))


def describe(record: RunRecord) -> list[str]:
    """Say in two lines what a run found."""
    recipe, metrics = record.recipe, record.metrics
    name = f"{recipe.task.name} {recipe.model.mixer} seed {recipe.seed} ({record.id})"
    if metrics.test is None or metrics.valid is None:
        return [f"{name}: {record.outcome} at step {metrics.steps}; try a lower optimiser.rate"]
    return [
        f"{name}: {record.outcome} "
        f"(majority class {metrics.majority:.2%}, validation {metrics.valid.accuracy:.2%})",
        f"  {metrics.steps_per_second:.2f} steps/s, {metrics.tokens_per_second:,.0f} tokens/s, "
        f"{metrics.parameters:,} parameters, {metrics.padding_share:.1%} padding",
    ]


def _next(recipe: Recipe, folder: RunFolder) -> list[str]:
    return [
        f"  written to {folder.path}",
        f"next: longarena evaluate {recipe.id} · longarena report",
    ]


def evaluate(
    run: Annotated[str, typer.Argument(help="The id of a run, its beginning, or its folder.")],
    split: Annotated[Literal["train", "valid", "test"], typer.Option()] = "test",
    runs: Runs = RUNS,
    threads: Threads = None,
    quiet: Quiet = False,
    json: AsJson = False,
) -> None:
    """Score the best parameters of a run on a split."""
    out = Output(quiet, json)
    set_up(threads)
    folder = find_run(runs, run)
    score = evaluate_run(folder, split, out.progress)
    out.result(score.model_dump(mode="json"))
    out.say(
        f"{folder.path.name} on {split}: accuracy {score.accuracy:.2%}, "
        f"loss {score.loss:.4f}, {score.examples:,} examples"
    )

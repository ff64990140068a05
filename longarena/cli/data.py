"""longarena data: prepare the data of a task, look at it, list what there is."""

from pathlib import Path
from typing import Annotated

import typer

from longarena import tasks
from longarena.cli.output import AsJson, Assignments, Output, Quiet
from longarena.data.batches import TrainingBatches
from longarena.data.ragged import Store
from longarena.errors import UserError
from longarena.recipes.recipe import read_value
from longarena.tasks.base import Task, default_home, open_prepared
from longarena.tasks.base import prepare as prepare_task

app = typer.Typer(no_args_is_help=True, help="Prepare data, look at it, list it.")

TaskName = Annotated[str, typer.Argument(metavar="TASK", help="See `longarena list tasks`.")]
Size = Annotated[float, typer.Option(help="The share of the data, for trials.")]
BATCH_SIZE = 32


@app.command()
def prepare(
    name: TaskName,
    source: Annotated[Path | None, typer.Option(help="A local archive or folder.")] = None,
    size: Size = 1.0,
    assignments: Assignments = None,
    quiet: Quiet = False,
    json: AsJson = False,
) -> None:
    """Download, read or generate the data of a task, once."""
    out = Output(quiet, json)
    store = prepare_task(_task(name, assignments, size), default_home(), source, out.progress)
    facts = _facts(store)
    out.result(facts)
    out.say(
        *(f"{key}: {value}" for key, value in facts.items()), f"next: longarena data show {name}"
    )


@app.command()
def show(
    name: TaskName,
    split: Annotated[str, typer.Option(help="train, valid or test.")] = "train",
    count: Annotated[int, typer.Option(min=1, help="How many examples.")] = 3,
    size: Size = 1.0,
    assignments: Assignments = None,
) -> None:
    """Show examples of a task as a person would read them."""
    task = _task(name, assignments, size)
    store = open_prepared(task, default_home())
    if split not in store.sizes:
        raise UserError(f"no split {split!r}; choose one of {', '.join(store.sizes)}")
    examples = store.split(split)
    for example in range(min(count, len(examples))):
        sequences = [examples.sequence(example, i) for i in range(store.num_sequences)]
        Output().say(task.describe(sequences, int(examples.labels[example])), "")


def _task(name: str, assignments: list[str] | None, size: float) -> Task:
    options = {}
    for assignment in assignments or []:
        key, equals, value = assignment.partition("=")
        if not equals:
            raise UserError(f"--set {assignment!r} is not of the form key=value")
        options[key.strip().removeprefix("task.")] = read_value(value)
    return tasks.build(name, options, size)


def _facts(store: Store) -> dict[str, str]:
    train = store.split("train")
    tokens, mean = int(train.num_tokens.sum()), train.num_tokens.mean()
    batch_size = min(BATCH_SIZE, len(train))
    padding = TrainingBatches(train, batch_size, seed=0).padding_share()
    return {
        "folder": str(store.folder),
        "fingerprint": store.fingerprint,
        "examples": ", ".join(f"{split} {count:,}" for split, count in store.sizes.items()),
        "tokens": f"{tokens:,} in train, {mean:,.0f} an example",
        "padding": f"{padding:.2%} of what a batch of {batch_size} computes",
    }

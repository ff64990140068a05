"""longarena data: prepare the data of a task, look at it, list what there is."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from longarena import tasks
from longarena.cli.output import AsJson, Assignments, Output, Quiet
from longarena.data import png
from longarena.data.batches import TrainingBatches
from longarena.data.files import write_atomically
from longarena.data.ragged import Split, Store, collect
from longarena.options import read_assignments
from longarena.tasks.base import Task, default_home
from longarena.tasks.listing import listing
from longarena.tasks.prepare import open_prepared
from longarena.tasks.prepare import prepare as prepare_task
from longarena.tasks.sheet import sheet

app = typer.Typer(no_args_is_help=True, help="Prepare data, look at it, list it.")

TaskName = Annotated[str, typer.Argument(metavar="TASK", help="See `longarena list tasks`.")]
Size = Annotated[float, typer.Option(help="The share of the data, for trials.")]
SplitName = Literal["train", "valid", "test"]
BATCH_SIZE, TEXTS, PICTURES = 32, 3, 25


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
    split: Annotated[SplitName, typer.Option(help="Which examples.")] = "train",
    count: Annotated[int | None, typer.Option(min=1, help="How many examples.")] = None,
    out: Annotated[Path | None, typer.Option(help="The picture of an image task.")] = None,
    size: Size = 1.0,
    assignments: Assignments = None,
) -> None:
    """Show examples of a task: as text, or as a sheet of pictures with their labels."""
    task = _task(name, assignments, size)
    shape = task.card.image_shape
    number = count or (TEXTS if shape is None else PICTURES)
    examples = _examples(task, split, number)
    if shape is not None:
        path = out or Path(f"{name}-{split}.png")
        write_atomically(path, png.encode(sheet(examples, number, shape)))
        Output().say(f"{min(number, len(examples))} images with their labels: {path.resolve()}")
        return
    for example in range(min(number, len(examples))):
        sequences = [examples.sequence(example, i) for i in range(examples.num_sequences)]
        Output().say(task.describe(sequences, int(examples.labels[example])), "")


@app.command("list")
def list_(json: AsJson = False) -> None:
    """List what is prepared: place, size on disk, fingerprint, state."""
    out = Output(is_json=json)
    found = listing(default_home())
    rows = [
        {
            "task": data.task,
            "variant": data.variant,
            "examples": " / ".join(f"{count:,}" for _, count in data.sizes),
            "MB": f"{data.num_bytes / 1e6:,.1f}",
            "fingerprint": data.fingerprint,
            "state": data.state,
            "folder": str(data.folder),
        }
        for data in found
    ]
    out.result(rows)
    if rows:
        out.table("prepared data", list(rows[0]), [list(row.values()) for row in rows])
    else:
        out.say(f"nothing is prepared under {default_home()}", "next: longarena data prepare TASK")


def _examples(task: Task, split: str, count: int) -> Split:
    """Take examples from the store, or generate just these if that is all it takes."""
    is_prepared = task.folder(default_home()).exists()
    if split == "train" and task.is_generated and not task.dataset and not is_prepared:
        chunks = (chunk for _, chunk in task.generate({"train": count}))
        return collect(chunks, task.card.num_sequences)
    return open_prepared(task, default_home()).split(split)


def _task(name: str, assignments: list[str] | None, size: float) -> Task:
    options = read_assignments(assignments or [], section="task")
    variant = str(options.pop("variant", ""))
    return tasks.build(name, options, size, variant)


def _facts(store: Store) -> dict[str, str]:
    train = store.split("train")
    tokens, mean = int(train.num_tokens.sum()), train.num_tokens.mean()
    batch_size = min(BATCH_SIZE, len(train))
    padding = TrainingBatches(train, batch_size, seed=0).padding_share()
    return {
        "data set": str(store.facts["dataset"] or "the task's own"),
        "folder": str(store.folder),
        "fingerprint": store.fingerprint,
        "examples": ", ".join(f"{split} {count:,}" for split, count in store.sizes.items()),
        "tokens": f"{tokens:,} in train, {mean:,.0f} an example",
        "padding": f"{padding:.2%} of what a batch of {batch_size} computes",
    }

"""longarena data: prepare the data of a task, look at it, list what there is."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from longarena.cli.card import card_lines, card_values, warning_lines
from longarena.cli.columns import Label, Text, with_columns
from longarena.cli.output import AsJson, Assignments, Output, Quiet, words
from longarena.cli.rows import Cell, Row, cell, texts, values
from longarena.cli.stopping import when_stopped

if TYPE_CHECKING:
    from longarena.data.dataset import Dataset, Split
    from longarena.tasks.base import Task

app = typer.Typer(no_args_is_help=True, help="Prepare data, look at it, list it.")

TaskName = Annotated[
    str,
    typer.Argument(
        metavar="TASK", help="A task (`longarena list tasks`), or the path of your own data."
    ),
]
Size = Annotated[float, typer.Option(help="The share of the data to take, for trials.")]
SplitName = Literal["train", "valid", "test"]
BATCH_SIZE, TEXTS, PICTURES = 32, 3, 25
# what a dataset says about its source, and what a person reads
LEFT_OUT = {"dropped": "left out", "cut": "cut at the greatest length"}


@app.command()
@when_stopped("nothing half-written stays, and a download goes on where it was")
def prepare(
    name: TaskName,
    source: Annotated[
        Path | None, typer.Option(help="An archive or a folder to read instead of a download.")
    ] = None,
    size: Size = 1.0,
    text: Text = None,
    label: Label = None,
    assignments: Assignments = None,
    quiet: Quiet = False,
    json: AsJson = False,
) -> None:
    """Download, read or generate the data of a task, once."""
    from longarena.tasks.base import default_home
    from longarena.tasks.prepare import prepare as prepare_task

    out, sets = Output(quiet, json), with_columns(assignments, text, label)
    task = _task(name, sets, size, out)
    data = prepare_task(task, default_home(), source, out.progress)
    facts = _facts(task, data)
    out.result(values([facts])[0])
    out.say(*(f"{key}: {fact.text}" for key, fact in facts.items()), *warning_lines(task))
    # a source may have named the data
    other = str(data.facts["data"] or "")
    given = [*sets, *([f"data={other}"] if other != task.data else [])]
    out.next(_show_command(name, size, given))


@app.command()
@when_stopped("nothing was written")
def show(
    name: TaskName,
    split: Annotated[SplitName, typer.Option(help="The split to take them from.")] = "train",
    count: Annotated[int | None, typer.Option(min=1, help="How many examples.")] = None,
    out: Annotated[Path | None, typer.Option(help="The file for the pictures.")] = None,
    size: Size = 1.0,
    text: Text = None,
    label: Label = None,
    assignments: Assignments = None,
    quiet: Quiet = False,
    json: AsJson = False,
) -> None:
    """Show examples of a task: as text, or as a sheet of pictures with their labels.

    Of your own data, its card comes first: classes, lengths, copies in several splits. Of Text and
    Retrieval come first what a token is, and how many of them the texts have.
    """
    output = Output(quiet, json)
    task = _task(name, with_columns(assignments, text, label), size, output)
    card = card_values(task)
    output.say(*card_lines(task), *([""] if card else []))
    shape = task.card.image_shape
    wanted = count or (TEXTS if shape is None else PICTURES)
    examples = _examples(task, split, wanted)
    number = min(wanted, len(examples))
    labels = [int(label) for label in examples.labels[:number]]
    if shape is not None:
        path = out or Path(f"{task.card.name}-{split}.png")
        _write_sheet(path, examples, wanted, shape)
        output.result({"picture": str(path), "labels": labels} | ({"card": card} if card else {}))
        output.say(f"{number} images with their labels: {path.resolve()}")
        return
    texts_ = [task.show(examples, i) for i in range(number)]
    shown = [{"text": t, "label": n} for t, n in zip(texts_, labels, strict=True)]
    output.result({"card": card, "examples": shown} if card else shown)
    output.say(*(f"{text}\n" for text in texts_))


@app.command("list")
def list_(quiet: Quiet = False, json: AsJson = False) -> None:
    """List what is prepared: its place, size on disk, fingerprint and state."""
    from longarena.tasks.base import default_home
    from longarena.tasks.listing import listing

    out = Output(quiet, json)
    rows: list[Row] = [
        {
            "task": cell(data.task),
            "variant": cell(data.variant),
            "examples": _counts(dict(data.sizes), " / ", with_names=False),
            "MB": Cell(data.num_bytes / 1e6, f"{data.num_bytes / 1e6:,.1f}"),
            "state": cell(data.state),
            "fingerprint": cell(data.fingerprint),
            "folder": cell(str(data.folder)),
        }
        for data in listing(default_home())
    ]
    out.result(values(rows))
    if rows:
        out.table("prepared data", list(rows[0]), texts(rows))
    else:
        out.say(f"nothing is prepared under {default_home()}")
        out.next("longarena data prepare listops")


def _show_command(name: str, size: float, assignments: Sequence[str]) -> str:
    """Write the command that shows the data just prepared."""
    settings = "".join(f" --set {quote(assignment)}" for assignment in assignments)
    return words(f"longarena data show {quote(name)}{settings}", size=None if size == 1 else size)


def _write_sheet(path: Path, examples: "Split", number: int, shape: tuple[int, int]) -> None:
    from longarena.data import png
    from longarena.data.files import write_atomically
    from longarena.tasks.sheet import sheet

    write_atomically(path, png.encode(sheet(examples, number, shape)))


def _examples(task: "Task", split: str, count: int) -> "Split":
    """Take examples from the store, or generate just these if that is all it takes."""
    from longarena.data.dataset import collect
    from longarena.tasks.base import default_home
    from longarena.tasks.prepare import obtain, open_prepared

    is_prepared = task.folder(default_home()).exists()
    if split == "train" and task.is_generated and not task.data and not is_prepared:
        chunks = (chunk for _, chunk in task.generate({"train": count}))
        return collect(chunks, task.signature.num_sequences)
    opened = open_prepared if task.is_generated else obtain
    return opened(task, default_home()).split(split)


def _task(name: str, assignments: Sequence[str], size: float, out: Output) -> "Task":
    from longarena import tasks
    from longarena.options import read_assignments
    from longarena.tasks.base import default_home
    from longarena.tasks.prepare import take_in

    options = read_assignments(assignments, section="task")
    given = str(options.pop("data", ""))
    name, found = take_in(name, default_home(), options, out.progress)
    return tasks.build(name, options, size, given or found)


def _facts(task: "Task", data: "Dataset") -> Row:
    from longarena.tasks.stream import Stream

    about: Row = {
        "data set": Cell(data.facts["data"], str(data.facts["data"] or "the task's own")),
        "folder": cell(str(data.folder)),
        "fingerprint": cell(data.fingerprint),
    }
    if isinstance(task, Stream):
        sizes = {split: len(data.split(split).tokens) for split in data.sizes}
        return {**about, "bytes": _counts(sizes, ", ", with_names=True)}
    return {**about, **_example_facts(data)}


def _example_facts(data: "Dataset") -> Row:
    from longarena.data.batches import TrainingBatches

    sizes = {split: len(data.split(split)) for split in data.sizes}
    train = data.split("train")
    tokens, mean = int(train.num_tokens.sum()), float(train.num_tokens.mean())
    batch_size = min(BATCH_SIZE, len(train))
    padding = TrainingBatches(train, batch_size, seed=0).padding_share()
    return {
        "examples": _counts(sizes, ", ", with_names=True),
        **_left_out(data),
        "tokens": Cell(tokens, f"{tokens:,} in train"),
        "tokens per example": Cell(mean, f"{mean:,.0f}"),
        "padding": Cell(padding, f"{padding:.2%} of what a batch of {batch_size} computes"),
    }


def _left_out(data: "Dataset") -> Row:
    """Say how much of the source is not there, or not whole."""
    numbers = {what: found for what in LEFT_OUT if isinstance(found := data.facts.get(what), dict)}
    counts = {
        what: {split: count for split, count in found.items() if isinstance(count, int)}
        for what, found in numbers.items()
    }
    return {LEFT_OUT[what]: _counts(found, ", ", with_names=True) for what, found in counts.items()}


def _counts(sizes: Mapping[str, int], between: str, *, with_names: bool) -> Cell:
    parts = [f"{split} {count:,}" if with_names else f"{count:,}" for split, count in sizes.items()]
    return Cell(dict(sizes), between.join(parts))

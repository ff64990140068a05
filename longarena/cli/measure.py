"""longarena measure: time, memory and operations of mechanisms, side by side."""

from collections.abc import Sequence
from typing import Annotated

import typer

from longarena.cli.output import RUNS, AsJson, Output, Quiet, StoreFolder, Threads
from longarena.errors import UserError, unknown
from longarena.measure import SHAPES, count
from longarena.measure import measure as measure_mixers
from longarena.measure.counting import Count
from longarena.measure.session import LENGTHS
from longarena.measure.summary import (
    Row,
    count_rows,
    growth_rows,
    label,
    prediction_rows,
    training_rows,
)
from longarena.measure.work import BATCH_SIZE
from longarena.runtime import set_up
from longarena.store.record import MeasureRecord

DEFAULT_LENGTHS = ",".join(map(str, LENGTHS))


def measure(
    mixers: Annotated[
        list[str] | None,
        typer.Argument(metavar="[MIXER]...", help="local, local[block=128], module:Class; or all."),
    ] = None,
    lengths: Annotated[str, typer.Option(help="Lengths with commas between.")] = DEFAULT_LENGTHS,
    batch: Annotated[int, typer.Option(min=1, help="Sequences per step.")] = BATCH_SIZE,
    shape: Annotated[str, typer.Option(help=f"The model's sizes: {', '.join(SHAPES)}.")] = "text",
    inference: Annotated[bool, typer.Option("--inference", help="Time predictions too.")] = False,
    cost: Annotated[
        bool, typer.Option("--cost", help="Count Mult-Adds by kind of layer; time nothing.")
    ] = False,
    session: Annotated[str | None, typer.Option(help="What belongs together; by the day.")] = None,
    store: StoreFolder = None,
    threads: Threads = None,
    quiet: Quiet = False,
    json: AsJson = False,
) -> None:
    """Measure a training step of mechanisms at several lengths: speed, memory, growth."""
    if shape not in SHAPES:
        raise unknown("shape", shape, SHAPES)
    out, chosen = Output(quiet, json), read_lengths(lengths)
    set_up(threads)
    if cost:
        return show_counts(
            count(mixers or (), lengths=chosen, shape=SHAPES[shape], progress=out.progress), out
        )
    folder = store or RUNS / "records"
    records = measure_mixers(
        mixers or (),
        lengths=chosen,
        batch_size=batch,
        shape=SHAPES[shape],
        inference=inference,
        session=session,
        store=folder,
        progress=out.progress,
    )
    show(records, out)
    out.say(
        f"records in {folder / 'measure'}, session {records[0].session}", "next: longarena report"
    )


def read_lengths(text: str) -> list[int]:
    """Read lengths with commas between.

    >>> read_lengths("1024,2_048")
    [1024, 2048]
    """
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise UserError(
            f"--lengths {text!r} is no list of whole numbers; write --lengths 1024,2048"
        ) from None


def show(records: Sequence[MeasureRecord], out: Output) -> None:
    """Print the tables of a session."""
    out.result([record.model_dump(mode="json") for record in records])
    first = records[0]
    sizes = f"{first.model.depth} layers, width {first.model.width}, batch {first.batch_size}"
    print_table(f"training step ({sizes})", training_rows(records), out)
    print_table(f"prediction ({sizes})", prediction_rows(records), out)
    print_table("growth with the length (exponents)", growth_rows(records), out)
    if first.limits:
        rate, copy = first.limits.flops_per_second, first.limits.copy_bytes_per_second
        out.say(f"the machine's limit: {rate / 1e9:.0f} GFLOP/s, {copy / 1e9:.1f} GB/s copied")
    for record in records:
        if record.reason:
            out.say(f"{label(record)} at {record.length}: {record.status}: {record.reason}")


def show_counts(counts: Sequence[Count], out: Output) -> None:
    """Print the operations by kind of layer."""
    out.result([found.model_dump(mode="json") for found in counts])
    print_table("Mult-Adds per token", count_rows(counts), out)


def print_table(title: str, lines: Sequence[Row], out: Output) -> None:
    """Print rows under the columns that any of them has."""
    columns = list(dict.fromkeys(column for line in lines for column in line))
    if lines:
        out.table(title, columns, [[line.get(column, "") for column in columns] for line in lines])
        out.say("")

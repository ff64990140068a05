"""longarena measure: time, memory and operations of mechanisms, side by side."""

from collections.abc import Sequence
from typing import Annotated

import typer

from longarena.cli.output import RUNS, AsJson, Output, Quiet, StoreFolder, Threads
from longarena.errors import UserError, unknown
from longarena.measure import SHAPES
from longarena.measure import measure as measure_mixers
from longarena.measure.session import LENGTHS
from longarena.measure.summary import Row, growths, rows
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
    session: Annotated[str | None, typer.Option(help="What belongs together; by the day.")] = None,
    store: StoreFolder = None,
    threads: Threads = None,
    quiet: Quiet = False,
    json: AsJson = False,
) -> None:
    """Measure a training step of mechanisms at several lengths: speed, memory, growth."""
    if shape not in SHAPES:
        raise unknown("shape", shape, SHAPES)
    out = Output(quiet, json)
    set_up(threads)
    folder = store or RUNS / "records"
    records = measure_mixers(
        mixers or (),
        lengths=read_lengths(lengths),
        batch_size=batch,
        shape=SHAPES[shape],
        inference=inference,
        session=session,
        store=folder,
        progress=out.progress,
    )
    out.result([record.model_dump(mode="json") for record in records])
    show(records, out)
    out.say(f"records in {folder / 'measure'}, session {records[0].session}")
    out.say("next: longarena report")


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
    first = records[0].model
    sizes = f"{first.depth} layers, width {first.width}, batch {records[0].batch_size}"
    print_table(f"training step ({sizes})", rows(records, lambda r: r.metrics), out)
    if any(record.inference for record in records):
        print_table(f"prediction ({sizes})", rows(records, lambda r: r.inference), out)
    print_table(
        "growth with the length: exponents",
        [
            {
                "mixer": g.mixer,
                "time": f"{g.time:.2f}",
                "memory": f"{g.memory:.2f}",
                "Mult-Adds": f"{g.mult_adds:.2f}",
                "claimed": f"{g.claimed:.1f}",
                "": "above its claim" if g.is_above_claim else "",
            }
            for g in growths(records)
        ],
        out,
    )
    for record in records:
        if record.reason:
            out.say(f"{record.model.mixer} at {record.length}: {record.status}: {record.reason}")


def print_table(title: str, lines: Sequence[Row], out: Output) -> None:
    """Print rows under the columns that any of them has."""
    columns = list(dict.fromkeys(column for line in lines for column in line))
    if lines:
        out.table(title, columns, [[line.get(column, "") for column in columns] for line in lines])
        out.say("")

"""longarena measure: time, memory and operations of mechanisms, side by side."""

from collections.abc import Mapping, Sequence
from typing import Annotated

import typer

from longarena.cli.output import RUNS, AsJson, Output, Quiet, StoreFolder, Threads
from longarena.errors import UserError, unknown
from longarena.measure import SHAPES, count, count_recipes
from longarena.measure import measure as measure_mixers
from longarena.measure.budget import read_amount
from longarena.measure.candidate import read_recipes
from longarena.measure.counting import Count
from longarena.measure.session import LENGTHS
from longarena.measure.summary import (
    Row,
    count_growth_rows,
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
DEFAULT_SHAPE, DEFAULT_PRESET = "text", "quick"
COUNTING = "Counting (--cost)"


def measure(
    mixers: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[MIXER]...", help=r"local, local\[block=128], module:Class; or all."
        ),
    ] = None,
    lengths: Annotated[
        str | None,
        typer.Option(
            help="Lengths with commas between.",
            show_default=f"{DEFAULT_LENGTHS}; with --task its longest",
        ),
    ] = None,
    batch: Annotated[int, typer.Option(min=1, help="Sequences per step.")] = BATCH_SIZE,
    shape: Annotated[
        str | None,
        typer.Option(help=f"The model's sizes: {', '.join(SHAPES)}.", show_default=DEFAULT_SHAPE),
    ] = None,
    inference: Annotated[bool, typer.Option("--inference", help="Time predictions too.")] = False,
    session: Annotated[str | None, typer.Option(help="What belongs together; by the day.")] = None,
    cost: Annotated[
        bool,
        typer.Option(
            "--cost",
            help="Count the Mult-Adds of attention, convolution, feed-forward; time nothing.",
            rich_help_panel=COUNTING,
        ),
    ] = False,
    task: Annotated[
        str | None,
        typer.Option(
            help="Count the recipe of this task instead of a shape, at its longest length.",
            rich_help_panel=COUNTING,
        ),
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(
            help="The preset of that recipe.",
            show_default=DEFAULT_PRESET,
            rich_help_panel=COUNTING,
        ),
    ] = None,
    assignments: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Override one value of that recipe.",
            rich_help_panel=COUNTING,
        ),
    ] = None,
    max_mult_adds: Annotated[
        str | None,
        typer.Option(
            help="Mark what takes more to predict one whole example: 500M, 1.5G, 2e9.",
            rich_help_panel=COUNTING,
        ),
    ] = None,
    store: StoreFolder = None,
    threads: Threads = None,
    quiet: Quiet = False,
    json: AsJson = False,
) -> None:
    """Measure a training step of mechanisms at several lengths: speed, memory, growth."""
    given = {
        "--task": task,
        "--preset": preset,
        "--set": assignments,
        "--max-mult-adds": max_mult_adds,
    }
    refuse_without(cost, "--cost", given)
    refuse_without(task is not None, "--task", {"--preset": preset, "--set": assignments})
    if task and shape:
        raise UserError("--task has sizes of its own; leave out --shape")
    chosen_shape = SHAPES.get(shape or DEFAULT_SHAPE)
    if chosen_shape is None:
        raise unknown("shape", shape or "", SHAPES)
    out, chosen = Output(quiet, json), read_lengths(lengths or DEFAULT_LENGTHS)
    limit = read_amount(max_mult_adds) if max_mult_adds is not None else None
    set_up(threads)
    if task:
        recipes = read_recipes(mixers or (), task, preset or DEFAULT_PRESET, assignments or ())
        found = count_recipes(recipes, lengths=chosen if lengths else None, progress=out.progress)
        return show_counts(found, limit, out)
    if cost:
        found = count(mixers or (), lengths=chosen, shape=chosen_shape, progress=out.progress)
        return show_counts(found, limit, out)
    folder = store or RUNS / "records"
    records = measure_mixers(
        mixers or (),
        lengths=chosen,
        batch_size=batch,
        shape=chosen_shape,
        inference=inference,
        session=session,
        store=folder,
        progress=out.progress,
    )
    show(records, out)
    out.say(
        f"records in {folder / 'measure'}, session {records[0].session}", "next: longarena report"
    )


def refuse_without(is_there: bool, needed: str, given: Mapping[str, object]) -> None:
    """Refuse options that mean nothing without another one."""
    for name, value in given.items():
        if value is not None and not is_there:
            raise UserError(f"{name} means nothing without {needed}; add {needed} or leave it out")


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


def show_counts(counts: Sequence[Count], limit: float | None, out: Output) -> None:
    """Print the operations by kind of layer, and how they grow."""
    mark = [{} if limit is None else {"above_limit": c.mult_adds > limit} for c in counts]
    out.result([c.model_dump(mode="json") | m for c, m in zip(counts, mark, strict=True)])
    print_table("Mult-Adds per token of a prediction", count_rows(counts, limit), out)
    print_table("growth with the length (exponents)", count_growth_rows(counts), out)


def print_table(title: str, lines: Sequence[Row], out: Output) -> None:
    """Print rows under the columns that any of them has."""
    columns = list(dict.fromkeys(column for line in lines for column in line))
    if lines:
        out.table(title, columns, [[line.get(column, "") for column in columns] for line in lines])
        out.say("")

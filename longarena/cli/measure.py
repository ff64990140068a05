"""longarena measure: time, memory and operations of mechanisms, side by side."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longarena.cli import named
from longarena.cli.output import RUNS, AsJson, Output, Quiet, StoreFolder, Threads, words
from longarena.cli.stopping import when_stopped
from longarena.cli.train import check_recipe
from longarena.errors import UserError, unknown

if TYPE_CHECKING:
    from longarena.measure.counting import Count
    from longarena.measure.work import Shape
    from longarena.records.record import CostRecord, GenerationRecord, MeasureRecord
    from longarena.table.table import Table

DEFAULT_LENGTHS = ",".join(map(str, named.LENGTHS))
DEFAULT_CONTEXTS = ",".join(map(str, named.CONTEXTS))
FAILED = 1
DEFAULT_SHAPE, DEFAULT_PRESET = "text", "quick"


@when_stopped("nothing was measured")
def measure(
    mixers: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[MIXER]...",
            help="local, local[block=128], module:Class or all; without any, all.",
        ),
    ] = None,
    lengths: Annotated[
        str | None,
        typer.Option(
            help="Lengths, separated by commas.",
            show_default=f"{DEFAULT_LENGTHS}; with --task its longest",
        ),
    ] = None,
    batch: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Sequences per step.",
            show_default=f"{named.BATCH_SIZE}; with --generate 1",
        ),
    ] = None,
    shape: Annotated[
        str | None,
        typer.Option(
            help=f"The model's sizes: {', '.join(named.SHAPES)}.", show_default=DEFAULT_SHAPE
        ),
    ] = None,
    inference: Annotated[bool, typer.Option("--inference", help="Also time predictions.")] = False,
    generate: Annotated[
        bool,
        typer.Option(
            "--generate",
            help="Time tokens that are generated after a context, instead of training steps.",
        ),
    ] = False,
    contexts: Annotated[
        str | None,
        typer.Option(
            help="With --generate: contexts, separated by commas.", show_default=DEFAULT_CONTEXTS
        ),
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            help="Give each mechanism at most so long at a length, beyond the least number of "
            "turns, to become steady.",
            show_default="30",
        ),
    ] = None,
    session: Annotated[
        str | None, typer.Option(help="A name for what is compared; by default a new one each day.")
    ] = None,
    cost: Annotated[
        bool,
        typer.Option(
            "--cost",
            help="Count the Mult-Adds of attention, convolution, feed-forward; time nothing.",
        ),
    ] = False,
    task: Annotated[
        str | None,
        typer.Option(
            help="With --cost: count the recipe of this task instead of a shape.",
        ),
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(
            help="With --task: the preset of the recipe.",
            show_default=DEFAULT_PRESET,
        ),
    ] = None,
    assignments: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="With --task: override one value of the recipe.",
        ),
    ] = None,
    max_mult_adds: Annotated[
        str | None,
        typer.Option(
            help="With --cost: mark what takes more to predict one example: 500M, 1.5G, 2e9.",
        ),
    ] = None,
    store: StoreFolder = None,
    threads: Threads = None,
    quiet: Quiet = False,
    json: AsJson = False,
) -> None:
    """Measure a training step of mechanisms at several lengths: speed, memory and how they grow."""
    from longarena.measure import SHAPES, StoppingRule, count, count_recipes, measure_generation
    from longarena.measure import measure as measure_mixers
    from longarena.measure.budget import read_amount
    from longarena.measure.candidate import read_recipes
    from longarena.runtime import set_up

    given = {
        "--task": task,
        "--preset": preset,
        "--set": assignments,
        "--max-mult-adds": max_mult_adds,
    }
    refuse_without(cost, "--cost", given)
    refuse_without(generate, "--generate", {"--contexts": contexts})
    if cost and seconds is not None:
        raise UserError("--cost times nothing; leave out --seconds")
    refuse_together(generate, {"--lengths": lengths, "--inference": inference, "--cost": cost})
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
        for recipe in recipes:
            check_recipe(recipe)
        found = count_recipes(recipes, lengths=chosen if lengths else None, progress=out.progress)
        return show_counts(found, limit, out)
    if cost:
        found = count(mixers or (), lengths=chosen, shape=chosen_shape, progress=out.progress)
        return show_counts(found, limit, out)
    folder = store or RUNS / "records"
    rule = StoppingRule() if seconds is None else StoppingRule(max_seconds_each=seconds)
    if generate:
        chosen = read_lengths(contexts or DEFAULT_CONTEXTS, "--contexts")
        batch_size = batch or 1
        check_lengths(chosen, batch_size, chosen_shape, "--contexts")
        with when_stopped(f"what was measured is in {folder}; the same command measures the rest"):
            generated = measure_generation(
                mixers or (),
                contexts=chosen,
                batch_size=batch_size,
                shape=chosen_shape,
                session=session,
                store=folder,
                stopping_rule=rule,
                progress=out.progress,
            )
        return show_generation(generated, out, folder, store)
    batch = batch or named.BATCH_SIZE
    check_lengths(chosen, batch, chosen_shape)
    with when_stopped(f"what was measured is in {folder}; the same command measures the rest"):
        records = measure_mixers(
            mixers or (),
            lengths=chosen,
            batch_size=batch,
            shape=chosen_shape,
            inference=inference,
            session=session,
            store=folder,
            stopping_rule=rule,
            progress=out.progress,
        )
    show(records, out)
    out.say(f"records in {folder / 'measure'}, session {records[0].session}")
    out.next(words("longarena report", store=store))
    end_with_failures(records, out)


def refuse_without(is_there: bool, needed: str, given: Mapping[str, object]) -> None:
    """Refuse options that mean nothing without another one."""
    for name, value in given.items():
        if value is not None and not is_there:
            raise UserError(f"{name} means nothing without {needed}; add {needed} or leave it out")


def refuse_together(is_there: bool, given: Mapping[str, object]) -> None:
    """Refuse options that mean nothing beside --generate."""
    for name, value in given.items():
        if value and is_there:
            raise UserError(f"{name} means nothing with --generate; leave out one of the two")


def check_lengths(
    lengths: Sequence[int], batch_size: int, shape: "Shape", option: str = "--lengths"
) -> None:
    """Refuse a length at which not even the tokens of every layer fit into the memory."""
    from longarena.model.size import BYTES_PER_NUMBER, check_memory

    num_bytes = max(lengths) * batch_size * shape.width * shape.depth * BYTES_PER_NUMBER
    check_memory(f"length {max(lengths):,}", num_bytes, f"choose smaller {option} or --batch")


def read_lengths(text: str, option: str = "--lengths") -> list[int]:
    """Read lengths with commas between.

    >>> read_lengths("1024,2_048")
    [1024, 2048]
    """
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise UserError(
            f"{option} {text!r} is not a list of whole numbers; write {option} 1024,2048"
        ) from None


def show(records: Sequence["MeasureRecord"], out: Output) -> None:
    """Print the tables of a session."""
    from longarena.measure.summary import growth_table, label, prediction_table, training_table

    out.result([record.model_dump(mode="json") for record in records])
    first = records[0]
    for table in (training_table(records), prediction_table(records), growth_table(records)):
        show_table(table, out)
    if first.limits:
        rate, copy = first.limits.flops_per_second, first.limits.copy_bytes_per_second
        out.say(f"the machine's limit: {rate / 1e9:.0f} GFLOP/s, {copy / 1e9:.1f} GB/s copied")
    for record in records:
        if record.reason:
            out.say(f"{label(record)} at {record.length}: {record.status}: {record.reason}")


def show_generation(
    records: Sequence["GenerationRecord"], out: Output, folder: Path, store: Path | None
) -> None:
    """Print what generation takes."""
    from longarena.measure.summary import generation_table, label

    out.result([record.model_dump(mode="json") for record in records])
    show_table(generation_table(records), out)
    for record in records:
        if record.reason:
            out.say(f"{label(record)} at {record.context}: {record.status}: {record.reason}")
    out.say(f"records in {folder / 'generation'}, session {records[0].session}")
    out.next(words("longarena report", store=store))
    end_with_failures(records, out)


def end_with_failures(records: Sequence["CostRecord"], out: Output) -> None:
    """End with exit code 1 if a mechanism failed; what failed is not recorded."""
    if any(record.status == "failed" for record in records):
        out.say("what failed is not recorded; the same command tries it again")
        raise typer.Exit(FAILED)


def show_counts(counts: Sequence["Count"], limit: float | None, out: Output) -> None:
    """Print the operations by kind of layer, and how they grow."""
    from longarena.measure.summary import count_growth_table, count_table

    mark = [{} if limit is None else {"above_limit": c.mult_adds > limit} for c in counts]
    out.result([c.model_dump(mode="json") | m for c, m in zip(counts, mark, strict=True)])
    for table in (count_table(counts, limit), count_growth_table(counts)):
        show_table(table, out)


def show_table(table: "Table | None", out: Output) -> None:
    """Print a table, if there is one."""
    if table:
        out.show(table)
        out.say("")

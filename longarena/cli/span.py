"""longarena span: how far a trained model looks."""

from typing import Annotated

import typer

from longarena.cli import named
from longarena.cli.output import (
    RUNS,
    AsJson,
    Output,
    Quiet,
    Runs,
    StoreFolder,
    Threads,
    unusual,
    words,
)
from longarena.cli.stopping import when_stopped


@when_stopped("nothing was written")
def span(
    run: Annotated[str, typer.Argument(help="The id of a run, its beginning, or its folder.")],
    samples: Annotated[int, typer.Option(min=1, help="How many examples.")] = named.SPAN_SAMPLES,
    runs: Runs = RUNS,
    store: StoreFolder = None,
    threads: Threads = None,
    quiet: Quiet = False,
    json: AsJson = False,
) -> None:
    """Measure the mean distance between a query and what it attends to, by layer and head."""
    from longarena.measure.span import span as measure_span
    from longarena.records.folder import write_record
    from longarena.runtime import set_up
    from longarena.training.folder import find_run

    out = Output(quiet, json)
    set_up(threads)
    record = measure_span(find_run(runs, run), samples, out.progress)
    path = write_record(store or runs / "records", record)
    out.result(record.model_dump(mode="json"))
    out.say(
        f"{record.recipe.task.name} {record.recipe.model.mixer}: mean span {record.mean_span:.1f} "
        f"tokens of {record.mean_length:.0f}, over {record.samples} samples"
    )
    rows = [
        [f"layer {layer + 1}", *(f"{value:.1f}" for value in heads)]
        for layer, heads in enumerate(record.spans)
    ]
    heads = [f"head {head + 1}" for head in range(len(record.spans[0]))]
    out.table("mean distance in tokens", ["", *heads], rows)
    out.say(f"written to {path}")
    out.next(words("longarena report", runs=unusual(runs), store=store))

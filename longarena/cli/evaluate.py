"""longarena evaluate: score a run again, on a split of its data or at several lengths."""

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from longarena.cli.measure import read_lengths
from longarena.cli.output import RUNS, AsJson, Output, Quiet, Runs, Threads
from longarena.cli.stopping import when_stopped
from longarena.cli.translate import Beam, LengthPenalty, decoding_changes

if TYPE_CHECKING:
    from longarena.training.evaluate import EvaluatedLengths


@when_stopped("nothing was changed")
def evaluate(
    run: Annotated[str, typer.Argument(help="The id of a run, its beginning, or its folder.")],
    split: Annotated[
        Literal["train", "valid", "test"], typer.Option(help="The split to score it on.")
    ] = "test",
    lengths: Annotated[
        str | None,
        typer.Option(help="Lengths with commas between, for a task that can be asked at any."),
    ] = None,
    beam: Beam = None,
    length_penalty: LengthPenalty = None,
    runs: Runs = RUNS,
    threads: Threads = None,
    quiet: Quiet = False,
    json: AsJson = False,
) -> None:
    """Score the best parameters of a run on a split, or at several lengths."""
    from longarena.runtime import set_up
    from longarena.training.evaluate import evaluate_lengths, evaluate_run
    from longarena.training.folder import find_run

    out = Output(quiet, json)
    set_up(threads)
    folder = find_run(runs, run)
    if lengths is not None:
        wanted = read_lengths(lengths)
        return show_lengths(evaluate_lengths(folder, wanted, split, out.progress), out)
    found = evaluate_run(folder, split, out.progress, decoding_changes(beam, length_penalty))
    metric, score = found.metric, found.score
    out.result({"metric": metric.name} | score.model_dump(mode="json"))
    out.say(
        f"{folder.path.name} on {split}: {metric.name} {metric.write_with_unit(score.value)}, "
        f"loss {score.loss:.4f}, {score.examples:,} examples"
    )


def show_lengths(found: "EvaluatedLengths", out: Output) -> None:
    """Print the scores by length and by the depth of the answer."""
    from longarena.report.tables.lengths import length_table

    out.result([each.model_dump(mode="json") for each in found.scores])
    out.show(length_table(found.scores, found.metric))

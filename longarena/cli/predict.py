"""longarena predict: the classes of examples, by the model of a run or an exported one."""

import csv
import io
import json as json_format
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longarena.cli.output import RUNS, AsJson, ModelName, Output, Quiet, Runs, Threads
from longarena.cli.stopping import when_stopped
from longarena.cli.translate import read_lines

if TYPE_CHECKING:
    from longarena.inference.answers import Answer
    from longarena.inference.examples import Given
    from longarena.inference.trained import TrainedModel

INPUT = "-"
COLUMNS = ("example", "place", "label", "probability")


@when_stopped("the answers so far are above, and no file was written")
def predict(
    model: ModelName,
    file: Annotated[
        str,
        typer.Argument(help="A table, .txt (a line each), arrays, .wav, a folder; - for a pipe."),
    ],
    text: Annotated[
        str | None,
        typer.Option(help="The column of the text, or two.", show_default="as in training"),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Write the answers to this file, as CSV.")
    ] = None,
    runs: Runs = RUNS,
    threads: Threads = None,
    quiet: Quiet = False,
    json: AsJson = False,
) -> None:
    """Name the class of every example, and how likely it is; with --json, a line for each."""
    from longarena.data.files import write_atomically
    from longarena.runtime import set_up
    from longarena.training.export import find_model

    output = Output(quiet, json)
    set_up(threads)
    trained = find_model(runs, model)
    trained.check_classifies()
    found = []
    for number, answer in enumerate(_answers(trained, _source(trained, file, text), output), 1):
        _print(number, answer, trained, output, is_listed=out is None)
        found.append(answer)
    if out is not None:
        write_atomically(out, _table(found))
        counts = Counter(each.prediction.label for each in found if each.prediction)
        shares = ", ".join(f"{name} {count:,}" for name, count in counts.most_common(10))
        output.say(f"{out}: {len(found):,} answers ({shares})")
    _warn(found, trained, output)


def _source(
    trained: "TrainedModel", file: str, text: str | None
) -> "Callable[[], Iterator[Given]]":
    """Return what reads the examples from their beginning."""
    from longarena.inference.examples import given_lines, read_file

    if file != INPUT:
        return lambda: read_file(Path(file), trained.config, text)
    lines = read_lines()
    return lambda: given_lines(lines, "", trained.config)


def _answers(
    trained: "TrainedModel", source: "Callable[[], Iterator[Given]]", output: Output
) -> "Iterator[Answer]":
    """Read all examples once to find mistakes and count them, and once more to answer them."""
    from longarena.inference.answers import answers, encode

    total = sum(1 for example in source() if encode(trained, example))
    with output.progress.bar("predicting", total) as bar:
        for answer in answers(trained, source()):
            yield answer
            bar.advance()


def _print(
    number: int, answer: "Answer", trained: "TrainedModel", output: Output, is_listed: bool
) -> None:
    """Print an answer, for a program or for a person."""
    found = answer.prediction
    if output.is_json:
        values = found.probabilities if found else ()
        line = {
            "example": number,
            "place": answer.place,
            "label": found.label if found else None,
            "probability": found.probability if found else None,
            "probabilities": dict(zip(trained.classes, values, strict=False)),
        }
        sys.stdout.write(json_format.dumps(line) + "\n")
    elif is_listed:
        words = f"{found.label} {found.probability:.1%}" if found else "nothing to read"
        output.say(f"{answer.place}: {words}")


def _table(found: "list[Answer]") -> str:
    """Write answers as CSV; an example without an answer has empty fields."""
    file = io.StringIO()
    table = csv.writer(file, lineterminator="\n")
    table.writerow(COLUMNS)
    for number, answer in enumerate(found, start=1):
        values = (
            (answer.prediction.label, answer.prediction.probability)
            if answer.prediction
            else ("", "")
        )
        table.writerow([number, answer.place, *values])
    return file.getvalue()


def _warn(found: "list[Answer]", trained: "TrainedModel", output: Output) -> None:
    """Say what was not read as it was given."""
    num_cut = sum(answer.is_cut for answer in found)
    num_empty = sum(answer.prediction is None for answer in found)
    if num_cut:
        output.progress.say(
            f"{num_cut:,} of {len(found):,} examples are longer than {trained.max_length:,} "
            "tokens and were cut, as in training"
        )
    if num_empty:
        output.progress.say(
            f"{num_empty:,} of {len(found):,} examples have nothing to read and no answer"
        )

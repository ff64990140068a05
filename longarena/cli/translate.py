"""longarena translate: translate sentences with the model of a run."""

import sys
from typing import Annotated

import typer

from longarena.cli.output import RUNS, AsJson, ModelName, Output, Quiet, Runs, Threads
from longarena.cli.stopping import when_stopped
from longarena.errors import UserError
from longarena.printable import printable

Beam = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=100,
        help="How many beginnings to keep in mind; 1 is greedy.",
        show_default="as in the recipe",
    ),
]
LengthPenalty = Annotated[
    float | None,
    typer.Option(
        min=0, max=10, help="Below 1: shorter translations.", show_default="as in the recipe"
    ),
]


@when_stopped("nothing was changed")
def translate(
    run: ModelName,
    sentences: Annotated[
        list[str] | None,
        typer.Argument(help="Sentences; without any, the lines of standard input."),
    ] = None,
    beam: Beam = None,
    length_penalty: LengthPenalty = None,
    runs: Runs = RUNS,
    threads: Threads = None,
    quiet: Quiet = False,
    json: AsJson = False,
) -> None:
    """Translate sentences with the model of a run or an exported one, a line each."""
    from longarena.runtime import set_up
    from longarena.training.export import find_model

    out = Output(quiet, json)
    given = sentences or read_lines()
    set_up(threads)
    model = find_model(runs, run)
    chosen = model.translator(decoding_changes(beam, length_penalty))
    found = chosen.translate(given)
    out.write("".join(f"{printable(text)}\n" for text in found))
    out.result(
        {
            "run": model.config.run,
            "translations": [
                {"source": source, "translation": text}
                for source, text in zip(given, found, strict=True)
            ],
        }
        | chosen.decoding.model_dump(mode="json")
    )


def decoding_changes(beam: int | None, length_penalty: float | None) -> dict[str, int | float]:
    """Collect what differs from the recipe's way of decoding.

    >>> decoding_changes(1, None)
    {'beam': 1}
    """
    values = {"beam": beam, "length_penalty": length_penalty}
    return {name: value for name, value in values.items() if value is not None}


def read_lines() -> list[str]:
    """Read the lines of standard input, which must be UTF-8."""
    if sys.stdin.isatty():
        raise UserError('give a sentence: longarena translate RUN "..."; or lines by a pipe')
    try:
        # "\n" alone ends a line: other line ends of Unicode stand inside sentences
        lines = sys.stdin.buffer.read().decode().split("\n")
    except UnicodeDecodeError as error:
        raise UserError(f"standard input is not UTF-8 (byte {error.start:,}); convert it") from None
    return lines[:-1] if lines[-1] == "" else lines

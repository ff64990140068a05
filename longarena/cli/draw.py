"""longarena draw: the attention pattern of a mechanism as a picture, memory blocks too."""

from pathlib import Path
from typing import Annotated

import typer

from longarena.cli.output import AsJson, Assignments, Output
from longarena.options import read_assignments
from longarena.report.pictures import HEADS, LENGTH, Sketch
from longarena.report.pictures import draw as draw_sketch


def draw(
    mixer: Annotated[str, typer.Argument(help="A mixer, or your own as module:Class.")],
    length: Annotated[int, typer.Option(min=1, help="How many positions.")] = LENGTH,
    heads: Annotated[int, typer.Option(min=1, help="How many heads, side by side.")] = HEADS,
    seed: Annotated[int, typer.Option(min=0, help="The seed of the random tokens.")] = 0,
    assignments: Assignments = None,
    out: Annotated[Path, typer.Option(help="The folder of the pictures.")] = Path("pictures"),
    json: AsJson = False,
) -> None:
    """Draw who attends to whom, as PNG and SVG; blocks are small so that the pattern shows."""
    options = read_assignments(assignments or [], section="model")
    paths = draw_sketch(Sketch(mixer, options, length, heads, seed), out)
    output = Output(is_json=json)
    output.result([str(path) for path in paths])
    output.say(*(str(path.resolve()) for path in paths))

"""longarena draw: the attention pattern of a mechanism as a picture, memory blocks too."""

from pathlib import Path
from typing import Annotated

import typer

from longarena.cli import named
from longarena.cli.output import AsJson, Assignments, Output, Quiet
from longarena.cli.stopping import when_stopped

# a weight is held in single and in double precision, with its root beside it
BYTES_PER_WEIGHT = 4 + 8 + 8


@when_stopped("nothing was drawn")
def draw(
    mixer: Annotated[str, typer.Argument(help="A mixer, or your own as module:Class.")],
    length: Annotated[int, typer.Option(min=1, help="How many positions.")] = named.PICTURE_LENGTH,
    heads: Annotated[int, typer.Option(min=1, help="How many heads.")] = named.PICTURE_HEADS,
    seed: Annotated[int, typer.Option(min=0, help="The seed of the random tokens.")] = 0,
    assignments: Assignments = None,
    out: Annotated[Path, typer.Option(help="The folder of the pictures.")] = Path("pictures"),
    quiet: Quiet = False,
    json: AsJson = False,
) -> None:
    """Draw who attends to whom, as PNG and SVG; blocks are small so that the pattern shows."""
    from longarena.model.size import check_memory
    from longarena.options import read_assignments
    from longarena.report.patterns.pictures import Sketch
    from longarena.report.patterns.pictures import draw as draw_sketch

    num_bytes = heads * length**2 * BYTES_PER_WEIGHT
    check_memory(f"a picture of {length:,} positions", num_bytes, "choose a smaller --length")
    options = read_assignments(assignments or [], section="model")
    paths = draw_sketch(Sketch(mixer, options, length, heads, seed), out)
    output = Output(quiet, json)
    output.result([str(path) for path in paths])
    output.say(*(str(path.resolve()) for path in paths))

"""longarena generate: continue a text with the model of a run."""

import codecs
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longarena.cli.output import RUNS, AsJson, ModelName, Output, Quiet, Runs, Threads
from longarena.cli.stopping import when_stopped
from longarena.errors import UserError

if TYPE_CHECKING:
    from longarena.inference.generate import Spent


@when_stopped("what was written so far is above")
def generate(
    run: ModelName,
    prompt: Annotated[str | None, typer.Option(help="The text to continue.")] = None,
    prompt_file: Annotated[
        Path | None, typer.Option(help="A file with the text to continue.")
    ] = None,
    tokens: Annotated[int, typer.Option(min=1, help="How many bytes to write.")] = 500,
    temperature: Annotated[
        float, typer.Option(min=0, help="Below 1: likelier bytes; 0: the likeliest.")
    ] = 0.8,
    top_k: Annotated[
        int | None, typer.Option(min=1, help="Draw from so many likeliest bytes only.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="The seed of what is drawn.")] = 0,
    context: Annotated[
        int | None,
        typer.Option(min=2, help="How many bytes it sees at most.", show_default="as in training"),
    ] = None,
    runs: Runs = RUNS,
    threads: Threads = None,
    quiet: Quiet = False,
    json: AsJson = False,
) -> None:
    """Write text with the model of a run or an exported one, as it comes."""
    from longarena.model.sampling import Sampling
    from longarena.runtime import set_up
    from longarena.training.export import find_model

    out = Output(quiet, json)
    start = _prompt(prompt, prompt_file)
    set_up(threads)
    model = find_model(runs, run)
    generator = model.generator(Sampling(temperature, top_k), seed, context)
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    written = b""
    for byte in generator.continued(start, tokens):
        written += byte
        out.write(decoder.decode(byte))
    out.write(decoder.decode(b"", final=True) + "\n")
    spent = generator.spent
    out.result(
        {
            "run": model.config.run,
            "prompt": start.decode(errors="replace"),
            "text": written.decode(errors="replace"),
            "tokens": spent.num_tokens,
            "seed": seed,
            "temperature": temperature,
            "top_k": top_k,
            "context": generator.context,
            "restarts": spent.num_restarts,
            "tokens_per_second": spent.tokens_per_second,
            "prompt_seconds": spent.prompt_seconds,
            "state_bytes": spent.state_bytes,
        }
    )
    if not (quiet or json):
        sys.stderr.write(f"{describe(spent, generator.context)}\n")


def _prompt(prompt: str | None, file: Path | None) -> bytes:
    if prompt is not None and file is not None:
        raise UserError("--prompt and --prompt-file both give the text to continue; leave one out")
    # what a shell hands over need not be valid text
    return file.read_bytes() if file else (prompt or "").encode(errors="surrogateescape")


def describe(spent: "Spent", context: int) -> str:
    """Say in a line what was written, how fast, and what was carried."""
    from longarena.report.formatting import bytes_name, many

    again = "" if not spent.num_restarts else f", begun anew {many(spent.num_restarts, 'time')}"
    return (
        f"{spent.num_tokens:,} tokens, {spent.tokens_per_second:,.1f} tokens/s, state "
        f"{bytes_name(spent.state_bytes)}, context {context:,} bytes{again}"
    )

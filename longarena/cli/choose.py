"""longarena choose: which mechanism to take for some data, in the minutes given."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from longarena.cli.columns import Label, Text, with_columns
from longarena.cli.crews import Address, KeepEvery, On, RunThreads, Storage, Workers, crew_of
from longarena.cli.output import AsJson, Assignments, Output, Quiet, words
from longarena.cli.stopping import when_stopped
from longarena.cli.train import warn

if TYPE_CHECKING:
    from longarena.records.choice import ChoiceRecord

FOLDER = Path("choose")


@when_stopped("what was measured and trained is kept; the same command goes on from there")
def choose(
    task: Annotated[
        str, typer.Argument(help="The path of your own data, or a task (`longarena list tasks`).")
    ],
    minutes: Annotated[float, typer.Option(help="How long it may take.")] = 30.0,
    preset: Annotated[str, typer.Option(help="The preset to start from.")] = "cpu",
    must: Annotated[
        Literal["decode"] | None,
        typer.Option(help="Only mechanisms that can generate, token by token."),
    ] = None,
    max_memory: Annotated[
        str | None,
        typer.Option(help="Leave out what takes more bytes for a training step: 500M, 2G."),
    ] = None,
    max_mult_adds: Annotated[
        str | None,
        typer.Option(help="Leave out what takes more to predict one example: 500M, 1.5G, 2e9."),
    ] = None,
    only: Annotated[
        str | None,
        typer.Option(
            metavar="MIXERS",
            help="Compare these alone, separated by commas; your own as module:Class.",
        ),
    ] = None,
    without: Annotated[
        str | None, typer.Option(metavar="MIXERS", help="Leave these out, separated by commas.")
    ] = None,
    text: Text = None,
    label: Label = None,
    assignments: Assignments = None,
    out: Annotated[
        Path | None,
        typer.Option(help="The folder for runs, records and the page.", show_default="choose/NAME"),
    ] = None,
    workers: Workers = None,
    threads: RunThreads = None,
    on: On = "local",
    address: Address = "auto",
    storage: Storage = None,
    keep_every: KeepEvery = None,
    quiet: Quiet = False,
    json: AsJson = False,
) -> None:
    """Find the mechanism to take for your data: measure all, train the promising, compare."""
    from rich.console import Console

    from longarena.choose import Constraints, Question
    from longarena.choose import choose as find_answer
    from longarena.measure.budget import read_amount
    from longarena.report import report
    from longarena.sweep.local import pool

    output = Output(quiet, json)
    constraints = Constraints(
        must_decode=must == "decode",
        max_memory_bytes=read_amount(max_memory, "--max-memory") if max_memory else None,
        max_mult_adds=read_amount(max_mult_adds) if max_mult_adds else None,
        only=_names(only),
        without=_names(without),
    )
    sets = with_columns(assignments, text, label)
    question = Question(task, minutes, preset, tuple(sets), constraints)
    folder = out or FOLDER / _folder_name(task)
    crew = crew_of(on, address, workers, threads, storage, keep_every)
    record = find_answer(
        question,
        folder,
        crew=crew,
        threads=threads or 1 if on == "ray" else pool(workers, threads).threads,
        progress=output.progress,
        console=None if quiet else Console(stderr=True),
    )
    if record.recipe:
        warn(record.recipe)
    page = report(folder / "records", folder).resolve()
    output.result(_facts(record, page))
    _show(record, output, page)


def _names(text: str | None) -> tuple[str, ...]:
    """Read names with commas between; those inside brackets belong to options.

    >>> _names("linear,local[block=16,neighbours=1], transformer"), _names(None)
    (('linear', 'local[block=16,neighbours=1]', 'transformer'), ())
    """
    found = re.split(r",(?![^\[]*\])", text or "")
    return tuple(name.strip() for name in found if name.strip())


def _folder_name(task: str) -> str:
    """Name the folder of a question about some data.

    >>> _folder_name("data/reviews.csv"), _folder_name("mine:Task"), _folder_name("digits/")
    ('reviews', 'mine-task', 'digits')
    """
    from longarena.table.table import slug

    is_class = ":" in task and not Path(task).exists()
    return slug(task if is_class else Path(task).stem) or "data"


def _show(record: "ChoiceRecord", output: Output, page: Path) -> None:
    """Print the verdict, the table behind it, and what to type next."""
    from longarena.findings.verdict import (
        conditions,
        python_lines,
        sentence,
        train_command,
    )
    from longarena.report.tables.choice import choice_table

    output.show(choice_table(record))
    output.say("", sentence(record), f"  ({conditions(record)})", f"the page is {page}")
    lines = python_lines(record)
    if lines:
        output.say("from Python:", *(f"    {line}" for line in lines))
    again = train_command(record)
    more = words(f"longarena choose {record.task.name}", minutes=f"{2 * record.minutes:g}")
    output.next(again or more)


def _facts(record: "ChoiceRecord", page: Path) -> dict[str, object]:
    from longarena.findings.verdict import python_lines, sentence, train_command

    return record.model_dump(mode="json") | {
        "sentence": sentence(record),
        "command": train_command(record),
        "python": python_lines(record),
        "page": str(page),
    }

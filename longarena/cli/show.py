"""longarena show: a mechanism, a recipe or a run, with all that is known of it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longarena.cli.lists import options_cell
from longarena.cli.output import RUNS, AsJson, Assignments, Output, Quiet, Runs, existing
from longarena.cli.rows import cell
from longarena.cli.train import describe
from longarena.errors import complete

if TYPE_CHECKING:
    from longarena.recipes.recipe import Recipe
    from longarena.records.record import RunRecord

app = typer.Typer(no_args_is_help=True, help="Show a mechanism, a recipe or a run.")


@app.command()
def mixer(
    name: Annotated[str, typer.Argument(metavar="MIXER", help="A mixer, or module:Class.")],
    quiet: Quiet = False,
    json: AsJson = False,
) -> None:
    """Print what is known of a mechanism: its card, its options and its parameters."""
    from longarena.attention import find

    kind, out = find(name), Output(quiet, json)
    options = options_cell(kind.options_type)
    count, base = _num_parameters(name), _num_parameters("transformer")
    facts = kind.card.model_dump(mode="json", exclude={"name", "at", "sketch"})
    out.result({"mixer": name} | facts | {"options": options.value, "parameters": count})
    out.say(
        *(f"{key}: {_plain(value)}" for key, value in ({"mixer": name} | facts).items()),
        f"options: {options.text or 'none'}",
        f"parameters: {count:,} in the Text model, {count / base:.2f} of the Transformer's",
    )
    out.next(f"longarena train listops {name}")


def _plain(value: object) -> str:
    return cell(value).text if isinstance(value, bool) else str(value)


def _num_parameters(mixer: str) -> int:
    """Count the parameters of the Text model around a mixer, under its defaults."""
    from longarena import tasks
    from longarena.measure import SHAPES
    from longarena.model.model import num_parameters
    from longarena.tracks import track_of

    signature = tasks.build("text", {}).signature
    config = SHAPES["text"].with_mixer(mixer, {})
    return num_parameters(track_of(signature).build(config, signature, seed=0))


@app.command()
def recipe(
    task: Annotated[str, typer.Argument(help="A task; `longarena list tasks` names them.")],
    mixer: Annotated[str, typer.Argument(help="A mixer, or your own as module:Class.")],
    preset: Annotated[str, typer.Option(help="The preset to start from.")] = "quick",
    seed: Annotated[int, typer.Option(min=0, help="The seed of everything random.")] = 0,
    assignments: Assignments = None,
    quiet: Quiet = False,
    json: AsJson = False,
) -> None:
    """Print a recipe and the id that its run has; it is JSON with or without --json."""
    from longarena.recipes.presets import preset as preset_recipe
    from longarena.recipes.recipe import override

    chosen = override(preset_recipe(task, mixer, preset, seed), assignments or [])
    Output(quiet, is_json=True).result({"id": chosen.id} | chosen.model_dump(mode="json"))


@app.command()
def run(
    name: Annotated[
        str, typer.Argument(metavar="RUN", help="Its id, the beginning of it, or its folder.")
    ],
    runs: Runs = RUNS,
    store: Annotated[
        Path | None, typer.Option("--store", help="Look in these records, not in the runs.")
    ] = None,
    quiet: Quiet = False,
    json: AsJson = False,
) -> None:
    """Tell where a run stands, what it found, and the command that makes it again."""
    from longarena.records.folder import read_records
    from longarena.training.folder import find_run

    out = Output(quiet, json)
    if store is not None:
        records = {record.id: record for record in read_records(existing(store)).runs}
        found = records[complete("run", name, records)]
        return _tell(out, found.recipe, found, step=found.metrics.steps)
    folder = find_run(runs, name)
    record = folder.read_record()
    step = record.metrics.steps if record else folder.last_step()
    _tell(out, folder.read_recipe(), record, step, folder.path)


def _tell(
    out: Output,
    made_by: "Recipe",
    record: "RunRecord | None",
    step: int,
    folder: Path | None = None,
) -> None:
    """Print what is known of a run that has ended or has not."""
    from longarena.findings.changes import command

    again = command(made_by, record.machine if record else None)
    out.result(
        {
            "run": made_by.id,
            "state": record.status if record else "unfinished",
            "step": step,
            "steps": made_by.steps,
            "folder": str(folder) if folder else None,
            "command": again,
            "record": record.model_dump(mode="json") if record else None,
        }
    )
    out.say(
        *(_found(record) if record else [f"{made_by.id}: at step {step} of {made_by.steps}"]),
        *([f"  folder: {folder}"] if folder else []),
        f"  command: {again or 'built in Python'}",
    )


def _found(record: "RunRecord") -> list[str]:
    when = f"  {record.status} {record.finished_at} on {record.machine.processor}"
    return [*describe(record), when]

"""longarena show: a mechanism, a recipe or a run, with all that is known of it."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longarena.cli.columns import Label, Text, with_columns
from longarena.cli.lists import options_cell
from longarena.cli.output import RUNS, AsJson, Assignments, Output, Quiet, Runs, existing
from longarena.cli.rows import cell
from longarena.cli.train import describe, trials
from longarena.errors import complete

if TYPE_CHECKING:
    from longarena.cli.plot import Picture
    from longarena.recipes.recipe import Recipe
    from longarena.records.record import Curve, RunRecord
    from longarena.training.folder import RunFolder

INDENT = "  "
WIDEST = 100  # a curve across a very wide terminal is only flatter

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
    task: Annotated[
        str, typer.Argument(help="A task (`longarena list tasks`), or the path of your own data.")
    ],
    mixer: Annotated[str, typer.Argument(help="A mixer, or your own as module:Class.")],
    preset: Annotated[str, typer.Option(help="The preset to start from.")] = "quick",
    seed: Annotated[int, typer.Option(min=0, help="The seed of everything random.")] = 0,
    text: Text = None,
    label: Label = None,
    assignments: Assignments = None,
    quiet: Quiet = False,
    json: AsJson = False,
) -> None:
    """Print a recipe and the id that its run has; it is JSON with or without --json."""
    from longarena.recipes.presets import preset as preset_recipe
    from longarena.recipes.presets.outside import options_of
    from longarena.recipes.recipe import override

    sets = with_columns(assignments, text, label)
    chosen = override(preset_recipe(task, mixer, preset, seed, options_of(task, sets)), sets)
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
    """Tell where a run stands, what it found, its curve, what to try, and its command."""
    from longarena.records.folder import read_records
    from longarena.records.summary import whole
    from longarena.training.folder import find_run

    out = Output(quiet, json)
    if store is not None:
        runs_of = {each.id: each for each in read_records(existing(store), out.progress).runs}
        return _tell_ended(out, whole(runs_of[complete("run", name, runs_of)]))
    folder = find_run(runs, name)
    record = folder.read_record()
    if record is None:
        return _tell_unfinished(out, folder)
    _tell_ended(out, record, folder.path)


def _tell_ended(out: Output, record: "RunRecord", folder: Path | None = None) -> None:
    """Print what a run found, its curve, and what to try next."""
    from longarena.findings.advice import advise
    from longarena.findings.changes import command

    recipe, metric = record.recipe, record.metric
    again = command(recipe, record.machine)
    found = {
        "state": record.status,
        "step": record.metrics.steps,
        "advice": [{"why": each.why, "words": each.words} for each in advise(record)],
        "record": record.model_dump(mode="json"),
    }
    out.result(_facts(recipe, folder, again, record.curve) | found)
    when = f"  {record.status} {record.finished_at} on {record.machine.processor}"
    unit = f", {metric.unit}" if metric.unit else ""
    picture = _picture(record.curve, record.metrics.level, metric.write)
    level = f"; dotted: without a model, {metric.write(record.metrics.level)}"
    out.say(*describe(record), when, *_places(recipe, folder, again))
    out.say(*_drawn(f"validation {metric.name}{unit}{level}", record.curve, picture))
    out.say(*trials(record))


def _tell_unfinished(out: Output, folder: "RunFolder") -> None:
    """Print where a run stands, and its curve so far."""
    from longarena.findings.changes import command

    recipe, step = folder.read_recipe(), folder.last_step()
    again = command(recipe)
    name, curve = folder.read_curve()
    found = {"state": "unfinished", "step": step, "advice": [], "record": None}
    out.result(_facts(recipe, folder.path, again, curve) | found)
    where = f"{recipe.id}: at step {step} of {recipe.steps}{_before(folder, step)}"
    out.say(where, *_places(recipe, folder.path, again))
    # the level is known when the run has ended
    out.say(*_drawn(f"validation {name}", curve, _picture(curve, None, "{:.4g}".format)))


def _before(folder: "RunFolder", step: int) -> str:
    """Say how far the run is that comes before one that has not begun itself."""
    from longarena.recipes.pretraining import start_of
    from longarena.training.folder import RunFolder

    before = start_of(folder.read_recipe())
    if before is None or step:
        return ""
    there = RunFolder(folder.path.with_name(before.id)).last_step()
    what = "pretraining" if before.masking else "start"
    return f", its {what} {before.id} at step {there} of {before.steps}"


def _facts(
    recipe: "Recipe", folder: Path | None, again: str | None, curve: "Curve"
) -> dict[str, object]:
    return {
        "run": recipe.id,
        "steps": recipe.steps,
        "folder": str(folder) if folder else None,
        "command": again,
        "curve": curve.model_dump(mode="json"),
    }


def _places(recipe: "Recipe", folder: Path | None, again: str | None) -> list[str]:
    how = "that of a run that begins with this one" if recipe.masking else "built in Python"
    return [*([f"  folder: {folder}"] if folder else []), f"  command: {again or how}"]


def _picture(
    curve: "Curve", level: float | None, write: Callable[[float], str]
) -> "Picture | None":
    """Take the points of a curve that can be drawn; None if there are none."""
    from longarena.cli.plot import Picture

    # a record says what it likes, so the lists may differ in length
    points = sorted(zip(curve.steps, curve.values, strict=False))
    points = [(step, value) for step, value in points if math.isfinite(value)]
    if not points:
        return None
    steps, values = zip(*points, strict=True)
    return Picture(steps, values, level, write)


def _drawn(title: str, curve: "Curve", picture: "Picture | None") -> list[str]:
    """Draw a curve under its title, as wide as the terminal."""
    from rich.console import Console

    from longarena.cli.plot import FINE, PLAIN, plot
    from longarena.progress import duration

    if picture is None:
        return []
    console = Console()
    pen = FINE if console.encoding.startswith("utf") else PLAIN
    end = f" ({duration(curve.seconds[-1])})" if curve.seconds else ""
    width = min(console.width, WIDEST) - len(INDENT)
    lines = [title, *plot(picture, width, pen, end)]
    return ["", *(f"{INDENT}{line}" for line in lines), ""]

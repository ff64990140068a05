"""longarena list: what there is to choose from, and what has been run."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from longarena.cli.output import RUNS, AsJson, Output, Quiet, Runs, StoreFolder
from longarena.cli.rows import Cell, Row, cell, texts, values
from longarena.errors import UserError

if TYPE_CHECKING:
    from longarena.options import Options
    from longarena.recipes.presets import Preset
    from longarena.recipes.recipe import Recipe
    from longarena.records.answers import Answers
    from longarena.records.record import RunRecord
    from longarena.training.folder import RunFolder

DAMAGED = "damaged"
RUN_COLUMNS = (
    *("run", "task", "mixer", "preset", "seed", "pretraining"),
    *("state", "step", "steps", "test", "standing", "changed"),
)

What = Literal["tasks", "mixers", "presets", "runs"]


def list_(
    what: Annotated[What | None, typer.Argument(help="Print this table only.")] = None,
    families: Annotated[
        bool,
        typer.Option("--families", help="Order mixers by family, with its standings here."),
    ] = False,
    runs: Runs = RUNS,
    store: StoreFolder = None,
    quiet: Quiet = False,
    json: AsJson = False,
) -> None:
    """List tasks, mechanisms (mixers), presets or runs."""
    out = Output(quiet, json)
    if families:
        if what not in (None, "mixers"):
            raise UserError(f"--families orders mixers; leave it out to list {what}")
        return _show_families(store or runs / "records", out)
    makers: dict[str, Callable[[], Sequence[Row]]] = {
        "tasks": _tasks,
        "mixers": _mixers,
        "presets": _presets,
        "runs": lambda: _runs(runs),
    }
    chosen = [what] if what else ["tasks", "mixers", "presets"]
    found = {name: makers[name]() for name in chosen}
    out.result(values(found[what]) if what else {name: values(found[name]) for name in chosen})
    for name, rows in found.items():
        if rows:
            out.table(name, list(rows[0]), texts(rows))
        else:
            out.say(f"no {name} yet")
        out.say("")
    if "mixers" in found:
        out.next("longarena show mixer linear")
    damaged = [row["run"].text for row in found.get("runs", ()) if row["state"].text == DAMAGED]
    out.next(*(f"longarena show run {name}" for name in damaged))


def _tasks() -> list[Row]:
    from longarena import tasks

    return [
        {
            "task": cell(card.name),
            "title": cell(card.title),
            "classes": cell(signature.num_classes),
            "length": cell(signature.max_length),
            "sequences": cell(signature.num_sequences),
            "train / valid / test": Cell(
                dict(card.sizes), " / ".join(f"{n:,}" for n in card.sizes.values())
            ),
            "version": cell(card.version),
            "options": options_cell(tasks.TASKS[card.name].options_type),
        }
        for task in (tasks.build(name, {}) for name in tasks.TASKS)
        for card, signature in [(task.card, task.signature)]
    ]


def _mixers() -> list[Row]:
    from longarena.attention import CARDS

    return [
        {
            "mixer": cell(name),
            "title": cell(card.title),
            "family": cell(card.family),
            "year": _year(card.year),
            "decodes": cell(card.decodes),
            "causal here": cell(card.causal),
            "time": cell(card.time),
            "memory": cell(card.memory),
        }
        for name, card in CARDS.items()
    ]


def _show_families(store: Path, out: Output) -> None:
    """Order the mechanisms by the families of the survey, with their standings in some records."""
    from longarena.records.folder import read_records
    from longarena.report.findings import Findings
    from longarena.report.tables.families import family_table
    from longarena.table.plain import plain

    table = family_table(Findings.of(read_records(store)).families)
    out.result(plain(table))
    out.show(table)


def _year(year: int) -> Cell:
    return Cell(year or None, str(year or ""))


def _presets() -> list[Row]:
    from longarena.attention import CARDS
    from longarena.recipes.presets import PRESETS

    return [
        {
            "preset": cell(name),
            "tasks": Cell(tasks, ", ".join(tasks)),
            "mixers": Cell(mixers, "all" if len(mixers) == len(CARDS) else ", ".join(mixers)),
            "about": cell((make.__doc__ or "").splitlines()[0]),
        }
        for name, make in PRESETS.items()
        for tasks, mixers in _recipes(make)
    ]


def _recipes(make: "Preset") -> list[tuple[list[str], list[str]]]:
    """List the tasks of a preset with the mixers for which it has just these."""
    from longarena.attention import CARDS
    from longarena.tasks import TASKS

    groups: dict[tuple[str, ...], list[str]] = {}
    for mixer in CARDS:
        tasks = tuple(task for task in TASKS if make(task, mixer, 0))
        groups.setdefault(tasks, []).append(mixer)
    return [(list(tasks), mixers) for tasks, mixers in groups.items() if tasks]


def _runs(runs: Path) -> list[Row]:
    from longarena.findings.ties import standings
    from longarena.training.folder import all_runs

    folders = {folder: _read(folder) for folder in all_runs(runs)}
    ended = {found[1].id: folder for folder, found in folders.items() if found and found[1]}

    def answers(record: "RunRecord") -> "Answers | None":
        try:
            return ended[record.id].read_answers(record)
        except UserError:  # whoever compares this run is told
            return None

    records = [found[1] for found in folders.values() if found and found[1]]
    known = standings(records, answers)
    return [
        _run(run, *found, known.get(run.path.name)) if found else _damaged(run)
        for run, found in folders.items()
    ]


def _read(run: "RunFolder") -> "tuple[Recipe, RunRecord | None] | None":
    """Read the recipe and the record of a run; None if one of them is damaged."""
    try:
        recipe = run.read_recipe()
        return recipe, run.read_record(recipe)
    except UserError:
        return None


def _damaged(run: "RunFolder") -> Row:
    """Name a run that cannot be read by its folders."""
    mixer, task = (folder.name for folder in run.path.parents[:2])
    return dict.fromkeys(RUN_COLUMNS, cell(None)) | {
        "run": cell(run.path.name),
        "task": cell(task),
        "mixer": cell(mixer),
        "state": cell(DAMAGED),
        "changed": _changed(run.changed_at()),
    }


def _run(
    run: "RunFolder", recipe: "Recipe", record: "RunRecord | None", standing: str | None
) -> Row:
    test = record.metrics.test if record else None
    return {
        "run": cell(run.path.name),
        "task": cell(recipe.task.name),
        "mixer": cell(recipe.model.mixer),
        "preset": cell(recipe.preset),
        "seed": Cell(recipe.seed, str(recipe.seed)),
        "pretraining": _pretraining(recipe),
        "state": cell(record.status if record else "unfinished"),
        "step": cell(record.metrics.steps if record else run.last_step()),
        "steps": cell(recipe.steps),
        "test": Cell(test.value, record.metric.write_with_unit(test.value))
        if record and test
        else cell(None),
        "standing": cell(standing),
        "changed": _changed(run.changed_at()),
    }


def _pretraining(recipe: "Recipe") -> Cell:
    """Say how many steps of pretraining a run begins with, or that it is one itself."""
    if recipe.masking is not None:
        return cell("itself")
    steps = recipe.pretraining.steps if recipe.pretraining else None
    return Cell(steps, f"{steps:,} steps" if steps else "")


def _changed(seconds: float) -> Cell:
    from longarena.progress import duration

    when = datetime.fromtimestamp(seconds, UTC)
    age = (datetime.now(UTC) - when).total_seconds()
    return Cell(when.isoformat(timespec="seconds"), f"{duration(age, num_units=1)} ago")


def options_cell(model: type["Options"]) -> Cell:
    """Write the options with their defaults.

    >>> from longarena.attention.transformer import TransformerOptions
    >>> options_cell(TransformerOptions).text
    'materialised=False'
    """
    fields = model.model_fields.items()
    defaults = {name: field.get_default(call_default_factory=True) for name, field in fields}
    return Cell(defaults, ", ".join(f"{name}={value}" for name, value in defaults.items()))

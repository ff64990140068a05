"""longarena list: what there is to choose from, and what has been run."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from longarena.cli.list_runs import DAMAGED, NEWEST, WantedRuns, run_rows
from longarena.cli.output import RUNS, AsJson, Output, Quiet, Runs, StoreFolder
from longarena.cli.rows import Cell, Row, cell, texts, values
from longarena.errors import UserError

if TYPE_CHECKING:
    from longarena.options import Options
    from longarena.recipes.presets import Preset

What = Literal["tasks", "mixers", "presets", "runs"]


def list_(
    what: Annotated[What | None, typer.Argument(help="Print this table only.")] = None,
    families: Annotated[
        bool,
        typer.Option("--families", help="Order mixers by family, with its standings here."),
    ] = False,
    task: Annotated[str | None, typer.Option(help="Of runs, those of this task.")] = None,
    mixer: Annotated[str | None, typer.Option(help="Of runs, those of this mixer.")] = None,
    limit: Annotated[
        int | None,
        typer.Option(
            min=1, help="Of runs, the newest so many.", show_default=f"{NEWEST}, with --json all"
        ),
    ] = None,
    runs: Runs = RUNS,
    store: StoreFolder = None,
    quiet: Quiet = False,
    json: AsJson = False,
) -> None:
    """List tasks, mechanisms (mixers), presets or runs."""
    out = Output(quiet, json)
    wanted = WantedRuns(task, mixer, limit or (None if json else NEWEST))
    if families:
        if what not in (None, "mixers"):
            raise UserError(f"--families orders mixers; leave it out to list {what}")
        return _show_families(store or runs / "records", out)
    makers: dict[str, Callable[[], Sequence[Row]]] = {
        "tasks": _tasks,
        "mixers": _mixers,
        "presets": _presets,
        "runs": lambda: run_rows(runs, store, wanted, out),
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


def options_cell(model: type["Options"]) -> Cell:
    """Write the options with their defaults.

    >>> from longarena.attention.transformer import TransformerOptions
    >>> options_cell(TransformerOptions).text
    'materialised=False'
    """
    fields = model.model_fields.items()
    defaults = {name: field.get_default(call_default_factory=True) for name, field in fields}
    return Cell(defaults, ", ".join(f"{name}={value}" for name, value in defaults.items()))

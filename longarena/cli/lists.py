"""longarena list: what there is to choose from, and what has been run."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Literal

import typer

from longarena import attention, tasks
from longarena.cli.output import RUNS, AsJson, Output, Runs, StoreFolder
from longarena.measure import SHAPES
from longarena.model.build import build_classifier, num_parameters
from longarena.options import Options
from longarena.progress import duration
from longarena.recipes.presets import PRESETS
from longarena.store.families import FamilyTable, Member, Standing, family_table
from longarena.store.folder import read_records
from longarena.training.folder import RunFolder, all_runs

What = Literal["tasks", "attention", "presets", "runs"]
Row = dict[str, str]


def list_(
    what: Annotated[What | None, typer.Argument(help="One table only.")] = None,
    families: Annotated[
        bool, typer.Option("--families", help="Attention by family, and where it stands here.")
    ] = False,
    runs: Runs = RUNS,
    store: StoreFolder = None,
    json: AsJson = False,
) -> None:
    """List tasks, attention mechanisms, presets or runs."""
    out = Output(is_json=json)
    makers: dict[str, Callable[[], list[Row]]] = {
        "tasks": _tasks,
        "attention": (lambda: _families(store or runs / "records")) if families else _attention,
        "presets": _presets,
        "runs": lambda: [_run(run) for run in all_runs(runs)],
    }
    chosen = [what] if what else ["tasks", "attention", "presets"]
    found = {name: makers[name]() for name in chosen}
    out.result(found[what] if what else found)
    for name, rows in found.items():
        if rows:
            out.table(name, list(rows[0]), [list(row.values()) for row in rows])
        else:
            out.say(f"no {name} yet")
        out.say("")


def _tasks() -> list[Row]:
    cards = [tasks.build(name, {}).card for name in tasks.TASKS]
    return [
        {
            "task": card.name,
            "title": card.title,
            "classes": str(card.num_classes),
            "length": f"{card.max_length:,}" + (" x 2" if card.num_sequences == 2 else ""),
            "train / valid / test": " / ".join(f"{n:,}" for n in card.sizes.values()),
            "version": str(card.version),
            "options": _options(tasks.TASKS[card.name].options_type),
        }
        for card in cards
    ]


def _attention() -> list[Row]:
    base = _parameters("transformer")
    return [
        {
            "mixer": name,
            "title": mixer.card.title,
            "family": mixer.card.family,
            "year": str(mixer.card.year),
            "time": mixer.card.time,
            "memory": mixer.card.memory,
            "decodes": "yes" if mixer.card.decodes else "no",
            "causal here": "yes" if mixer.card.causal else "no",
            "parameters": f"{_parameters(name) / base:.2f}x",
            "options": _options(mixer.options_type),
        }
        for name, mixer in attention.MIXERS.items()
    ]


def _families(store: Path) -> list[Row]:
    """Order the mechanisms by the families of the survey, each family named once."""
    table = family_table(read_records(store))
    families = [member.card.family for member in table.members]
    return [
        {
            "family": "" if i and families[i - 1] == families[i] else families[i],
            "mixer": member.mixer,
            "year": str(member.card.year or ""),
            "time": member.card.time,
            "decodes": "yes" if member.card.decodes else "no",
            **_standings(table, member),
            "paper": member.card.paper,
        }
        for i, member in enumerate(table.members)
    ]


def _standings(table: FamilyTable, member: Member) -> Row:
    """Say where a mechanism stands in what the store has numbers of."""
    row = {}
    if table.length:
        row[f"speed at {table.length:,}"] = _standing(member.speed, "{:.2f}x")
        row[f"memory at {table.length:,}"] = _standing(member.memory, "{:.2f}x")
    if table.num_tasks:
        tasks_ = "1 task" if table.num_tasks == 1 else f"{table.num_tasks} tasks"
        row[f"score, {table.preset}, {tasks_}"] = _standing(member.score, "{:.1%}")
    return row


def _standing(found: Standing | None, form: str) -> str:
    return f"{form.format(found.value)} ({found.place} of {found.among})" if found else ""


def _parameters(mixer: str) -> int:
    """Count the parameters of the Text model around a mixer, under its defaults."""
    config = SHAPES["text"].with_mixer(mixer, {})
    return num_parameters(build_classifier(config, tasks.build("text", {}).card, seed=0))


def _presets() -> list[Row]:
    return [
        {
            "preset": name,
            "tasks": ", ".join(t for t in tasks.TASKS if make(t, "transformer", 0) is not None),
            "about": (make.__doc__ or "").splitlines()[0],
        }
        for name, make in PRESETS.items()
    ]


def _run(run: RunFolder) -> Row:
    recipe, record = run.read_recipe(), run.read_record()
    test = record.metrics.test if record else None
    return {
        "run": run.path.name,
        "task": recipe.task.name,
        "mixer": recipe.model.mixer,
        "preset": recipe.preset,
        "seed": str(recipe.seed),
        "state": record.status if record else "unfinished",
        "step": f"{record.metrics.steps if record else run.last_step()}/{recipe.steps}",
        "age": duration(time.time() - run.changed_at(), num_units=1),
        "test accuracy": f"{test.accuracy:.2%}" if test else "",
    }


def _options(model: type[Options]) -> str:
    """Write the options with their defaults.

    >>> from longarena.attention.transformer import TransformerOptions
    >>> _options(TransformerOptions)
    'materialised=False'
    """
    fields = model.model_fields.items()
    return ", ".join(f"{name}={field.get_default()}" for name, field in fields)

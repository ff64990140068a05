"""The table of `longarena list runs`: the runs under a folder, or those that records tell of."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from longarena.cli.output import Output, existing
from longarena.cli.rows import Cell, Row, cell
from longarena.errors import UserError

if TYPE_CHECKING:
    from longarena.findings.ties import ReadAnswers
    from longarena.recipes.recipe import Recipe
    from longarena.records.answers import Answers
    from longarena.records.summary import Run
    from longarena.training.folder import RunFolder
    from longarena.training.listing import ListedRun

# how many runs are listed in a terminal, and among how many each is compared with the best
NEWEST = 100
MOST_COMPARED = 1000
DAMAGED = "damaged"
COLUMNS = (
    *("run", "task", "mixer", "preset", "seed", "pretraining", "extended"),
    *("state", "step", "steps", "test", "standing", "changed"),
)


@dataclass(frozen=True)
class WantedRuns:
    """Which runs are listed: those of a task or a mixer, the newest so many."""

    task: str | None = None
    mixer: str | None = None
    limit: int | None = None

    def has(self, task: str, mixer: str) -> bool:
        """Tell whether runs of a task with a mixer are listed; folders have no colons."""
        wanted = ((self.task, task), (self.mixer, mixer))
        return all(not name or own in (name, name.replace(":", ".")) for name, own in wanted)

    def newest(self, runs: Sequence["ListedRun"]) -> list["ListedRun"]:
        """Keep the newest, in the order in which they come."""
        if self.limit is None:
            return list(runs)
        order = sorted(range(len(runs)), key=lambda at: _changed_at(runs[at]))
        return [runs[at] for at in sorted(order[-self.limit :])]


def run_rows(runs: Path, store: Path | None, wanted: WantedRuns, out: Output) -> list[Row]:
    """List runs, and say what was left out."""
    every, read = _stored(store, wanted, out) if store else _in_folders(runs, wanted, out)
    shown = wanted.newest(every)
    if len(shown) < len(every):
        out.say(f"the newest {len(shown)} of {len(every):,} runs; see --limit, --task, --mixer")
    if len(every) > MOST_COMPARED:
        out.say(f"standings are left out among more than {MOST_COMPARED:,} runs: longarena report")
    found = _standings(every, read) if len(every) <= MOST_COMPARED else {}
    return [_row(run, found) for run in shown]


def _in_folders(
    runs: Path, wanted: WantedRuns, out: Output
) -> tuple[list["ListedRun"], "ReadAnswers"]:
    from longarena.records.summary import whole
    from longarena.training.folder import RunFolder, all_runs
    from longarena.training.listing import read_runs

    folders = [run for run in all_runs(runs) if wanted.has(*run.path.parts[-3:-1])]

    def answers(run: "Run") -> "Answers | None":
        try:
            return RunFolder.of(runs, run.recipe).read_answers(whole(run))
        except UserError:  # whoever compares this run is told
            return None

    return read_runs(runs, folders, out.progress), answers


def _stored(
    store: Path, wanted: WantedRuns, out: Output
) -> tuple[list["ListedRun"], "ReadAnswers"]:
    from longarena.records.folder import read_records

    records = read_records(existing(store), out.progress)
    every = [run for run in records.runs if wanted.has(run.task_name, run.mixer)]
    return list(every), records.answers_of


def _standings(every: Sequence["ListedRun"], read: "ReadAnswers") -> dict[str, str]:
    from longarena.findings.ties import standings
    from longarena.records.summary import is_run

    return standings([run for run in every if is_run(run)], read)


def _row(run: "ListedRun", standings: dict[str, str]) -> Row:
    from longarena.training.folder import RunFolder
    from longarena.training.listing import DamagedRun

    if isinstance(run, DamagedRun):
        return _damaged(run.folder)
    return _unfinished(run) if isinstance(run, RunFolder) else _ended(run, standings.get(run.id))


def _ended(run: "Run", standing: str | None) -> Row:
    test = run.metrics.test
    score = Cell(test.value, run.metric.write_with_unit(test.value)) if test else cell(None)
    return {
        **_names(run.id, run.recipe),
        "state": cell(run.status),
        "step": cell(run.metrics.steps),
        "steps": cell(run.recipe.steps),
        "test": score,
        "standing": cell(standing),
        "changed": _ago(run.finished_at),
    }


def _unfinished(run: "RunFolder") -> Row:
    recipe = run.read_recipe()
    return {
        **_names(run.path.name, recipe),
        "state": cell("unfinished"),
        "step": cell(run.last_step()),
        "steps": cell(recipe.steps),
        **dict.fromkeys(("test", "standing"), cell(None)),
        "changed": _ago(_changed_at(run)),
    }


def _damaged(run: "RunFolder") -> Row:
    """Name a run that cannot be read by its folders."""
    mixer, task = (folder.name for folder in run.path.parents[:2])
    known = {"run": run.path.name, "task": task, "mixer": mixer, "state": DAMAGED}
    return {name: cell(known.get(name)) for name in COLUMNS} | {"changed": _ago(_changed_at(run))}


def _names(name: str, recipe: "Recipe") -> Row:
    return {
        "run": cell(name),
        "task": cell(recipe.task.name),
        "mixer": cell(recipe.model.mixer),
        "preset": cell(recipe.preset),
        "seed": Cell(recipe.seed, str(recipe.seed)),
        "pretraining": _pretraining(recipe),
        "extended": _extended(recipe),
    }


def _pretraining(recipe: "Recipe") -> Cell:
    """Say how many steps of pretraining a run begins with, or that it is one itself."""
    if recipe.masking is not None:
        return cell("itself")
    steps = recipe.pretraining.steps if recipe.pretraining else None
    return Cell(steps, f"{steps:,} steps" if steps else "")


def _extended(recipe: "Recipe") -> Cell:
    """Say from which length the positions of a run were copied."""
    length = recipe.extension.length if recipe.extension else None
    return Cell(length, f"from {length:,}" if length else "")


def _changed_at(run: "ListedRun") -> str:
    """Return when a run ended, or last wrote to its log; such texts can be compared."""
    from longarena.training.folder import RunFolder
    from longarena.training.listing import DamagedRun

    if isinstance(run, RunFolder | DamagedRun):
        folder = run if isinstance(run, RunFolder) else run.folder
        return datetime.fromtimestamp(folder.changed_at(), UTC).isoformat(timespec="seconds")
    return run.finished_at


def _ago(moment: str) -> Cell:
    from longarena.progress import duration

    try:
        age = datetime.now(UTC) - datetime.fromisoformat(moment)
    except (ValueError, TypeError):  # a record says what it likes
        return cell(moment)
    return Cell(moment, f"{duration(age.total_seconds(), num_units=1)} ago")

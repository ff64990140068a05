"""longarena compare: which of some runs is better, and whether that is more than luck."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longarena.cli.output import RUNS, AsJson, Output, Quiet, Runs, existing
from longarena.errors import UserError, complete

if TYPE_CHECKING:
    from longarena.findings.comparison import AnsweredRun, Comparison, Place
    from longarena.progress import Progress
    from longarena.records.summary import Run
    from longarena.tracks.metric import Metric


def compare(
    names: Annotated[
        list[str],
        typer.Argument(metavar="RUN RUN...", help="Ids of runs, their beginnings, or folders."),
    ],
    seeds: Annotated[
        bool, typer.Option("--seeds", help="Take all seeds that there are of each of them.")
    ] = False,
    runs: Runs = RUNS,
    store: Annotated[
        Path | None, typer.Option("--store", help="Look in these records, not in the runs.")
    ] = None,
    quiet: Quiet = False,
    json: AsJson = False,
) -> None:
    """Compare runs by their answers to the same test examples; seeds of a recipe go together."""
    from longarena.findings.comparison import compare as compare_runs

    out = Output(quiet, json)
    chosen = (
        _from_store(existing(store), names, seeds, out.progress)
        if store
        else _from_runs(runs, names, seeds)
    )
    found = compare_runs(chosen)
    out.result(facts(found))
    out.table(
        f"test {found.metric.name}", COLUMNS, [_row(place, found.metric) for place in found.places]
    )
    out.say(*sentences(found))


COLUMNS = ["mixer", "seeds", "test", "behind the best", "95 % interval", "verdict", "runs"]


def _row(place: "Place", metric: "Metric") -> list[str]:
    behind = place.behind
    return [
        place.name,
        str(len(place.runs)),
        metric.write_with_unit(place.value),
        "" if place.is_best else metric.write(behind.value),
        "" if place.is_best else f"{metric.write(behind.low)} to {metric.write(behind.high)}",
        place.verdict,
        ", ".join(run.id for run in place.runs),
    ]


def sentences(found: "Comparison") -> list[str]:
    """Say in words what the table says, and what it rests on."""
    best, *others = found.places
    tied = [place.name for place in others if place.behind.is_tie]
    worse = [place.name for place in others if not place.behind.is_tie]
    lines = [f"{best.name} is better than {_list(worse)}"] if worse else []
    lines += [f"{best.name} and {_list(tied)} are tied: the difference may be luck"] if tied else []
    seeds = " and the seeds" if found.has_seeds else ""
    lines.append(f"by a paired bootstrap over {found.num_examples:,} test examples{seeds}")
    if found.chance is not None:
        lines.append(f"McNemar's exact test: p = {found.chance:.2g}")
    if not found.has_seeds:
        lines.append(
            "one seed each: this compares these runs, and another seed may differ by more; "
            "train more seeds, then add --seeds"
        )
    return lines


def _list(names: list[str]) -> str:
    """Write names with commas and a last "and".

    >>> _list(["a"]), _list(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def facts(found: "Comparison") -> dict[str, object]:
    """Return the comparison for a program; a difference is by how much the best is better."""
    return {
        "metric": found.metric.name,
        "examples": found.num_examples,
        "mcnemar": found.chance,
        "places": [
            {
                "name": place.name,
                "runs": [run.id for run in place.runs],
                "value": place.value,
                "difference": place.behind.value,
                "low": place.behind.low,
                "high": place.behind.high,
                "verdict": place.verdict,
            }
            for place in found.places
        ],
    }


def _from_runs(runs: Path, names: list[str], seeds: bool) -> list["AnsweredRun"]:
    """Read the named runs from their folders, with the other seeds of their recipes if wanted."""
    from longarena.findings.comparison import AnsweredRun
    from longarena.recipes.recipe import id_without_seed
    from longarena.training.folder import all_runs, find_run

    folders = {folder.path.name: folder for folder in (find_run(runs, name) for name in names)}
    if seeds:
        wanted = {id_without_seed(folder.read_recipe()) for folder in folders.values()}
        every = {folder.path.name: folder for folder in all_runs(runs)}
        folders |= {
            name: folder
            for name, folder in every.items()
            if id_without_seed(folder.read_recipe()) in wanted and folder.read_record()
        }
    found = []
    for name, folder in folders.items():
        record = folder.read_record()
        if record is None:
            raise UserError(f"run {name} has not ended; train it to its end first")
        answers = folder.read_answers(record)
        if answers is None:
            raise _no_answers(record)
        found.append(AnsweredRun(record, answers))
    return found


def _from_store(
    store: Path, names: list[str], seeds: bool, progress: "Progress"
) -> list["AnsweredRun"]:
    """Read the named runs from a folder of records."""
    from longarena.findings.comparison import AnsweredRun
    from longarena.records.folder import read_records
    from longarena.records.summary import seedless

    records = read_records(store, progress)
    every = {record.id: record for record in records.runs}
    chosen = {name: every[name] for name in (complete("run", each, every) for each in names)}
    if seeds:
        wanted = {seedless(record) for record in chosen.values()}
        chosen |= {name: record for name, record in every.items() if seedless(record) in wanted}
    found = []
    for record in chosen.values():
        answers = records.answers_of(record)
        if answers is None:
            raise _no_answers(record)
        found.append(AnsweredRun(record, answers))
    return found


def _no_answers(record: "Run") -> UserError:
    if record.metrics.test is None:
        return UserError(f"run {record.id} has {record.status}: it has no answers to compare")
    return UserError(
        f"the answers of run {record.id} are not beside its record; train it again with --again"
    )

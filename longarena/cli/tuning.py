"""What `longarena sweep --tune` says of its choices."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from longarena.records.tuning import TuningRecord


def describe_choice(record: "TuningRecord") -> str:
    """Say in one line what was chosen, and out of what."""
    from longarena.findings.changes import write
    from longarena.findings.tuning import Procedure

    best = record.chosen.scores[-1]
    score = "diverged" if best is None else f"validation {record.metric.write_with_unit(best)}"
    tried = Procedure.of(record).words
    return f"{_title(record)}: {write(record.chosen.values)} ({score}), chosen from {tried}"


def warn_of_edges(record: "TuningRecord") -> list[str]:
    """Say for every key that was chosen at the edge of the grid where better values may be."""
    return [
        f"{_title(record)}: {key}={record.chosen.values[key]} is the {edge} that was tried; the "
        f"best may lie beyond, so widen --tune {key}"
        for key, edge in record.edges.items()
    ]


def facts(record: "TuningRecord") -> dict[str, object]:
    """Return what a program wants to know of a choice."""
    return {
        "task": record.recipe.task.name,
        "mixer": record.recipe.model.mixer,
        "chosen": record.chosen.values,
        "edges": record.edges,
        "rungs": record.rungs,
        "budget": record.budget,
        "candidates": [each.model_dump(mode="json") for each in record.candidates],
    }


def _title(record: "TuningRecord") -> str:
    return f"{record.recipe.task.name} {record.recipe.model.mixer}"

"""What `longarena sweep --tune` says of its choices."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from longarena.records.tuning import TuningRecord


def describe_choices(records: Sequence["TuningRecord"]) -> list[str]:
    """Say what was chosen, then where the values that were tried may not be enough."""
    return [
        *(_describe(record) for record in records),
        *(line for record in records for line in _warn_of_edges(record)),
    ]


def _describe(record: "TuningRecord") -> str:
    from longarena.findings.changes import write

    best, count = record.chosen.scores[-1], len(record.candidates)
    found = f"{_title(record)}: {write(record.chosen.values)}"
    if best is None:
        return f"{found}, the first of {count}: all have diverged"
    return f"{found}, the best of {count} on validation ({record.metric.write_with_unit(best)})"


def _warn_of_edges(record: "TuningRecord") -> list[str]:
    return [
        f"{_title(record)}: {record.chosen.values[key]} is the {edge} {key} that was tried; "
        "give more values beyond it"
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
